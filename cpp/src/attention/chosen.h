#pragma once

#include <cstdint>

#include "attention/call.h"

namespace headwise {

/// A stretch of the chosen query rows, all of one sequence: entries [begin, end) of the selection. Its rows share one
/// packing of the keys.
struct ChosenRows {
  const Sequence* sequence;
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// A selection with its defaults filled in.
class Chosen {
 public:
  Chosen(const Call& call, const Selection& selection) : call_(call), selection_(selection) {}
  [[nodiscard]] std::int64_t heads() const { return selection_.heads ? selection_.num_heads : call_.shape.num_heads; }
  [[nodiscard]] std::int64_t queries() const {
    return selection_.queries ? selection_.num_queries : call_.shape.query_length;
  }
  [[nodiscard]] std::int64_t head(std::int64_t n) const { return selection_.heads ? selection_.heads[n] : n; }
  /// The n-th chosen query row, as an index of the whole Sq axis.
  [[nodiscard]] std::int64_t query(std::int64_t n) const { return selection_.queries ? selection_.queries[n] : n; }
  [[nodiscard]] bool average() const { return selection_.average; }
  [[nodiscard]] std::int64_t output_heads() const { return average() ? 1 : heads(); }

 private:
  const Call& call_;
  const Selection& selection_;
};

/// The sequence that owns query row `query` of batch `batch`.
[[nodiscard]] const Sequence* sequence_of(const Call& call, std::int64_t batch, std::int64_t query);

}  // namespace headwise
