#pragma once

namespace headwise {

/// What a position gives: a row of floats that depends on nothing else.
class PositionRule {
 public:
  virtual void write(double position, float* row) const = 0;

 protected:
  ~PositionRule() = default;
};

}  // namespace headwise
