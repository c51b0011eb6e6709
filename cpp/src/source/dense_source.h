#pragma once

#include "base/strides.h"
#include "headwise/attention.h"
#include "source/key_value_source.h"

namespace headwise {

/// Keys and values in the caller's arrays.
class DenseSource final : public KeyValueSource {
 public:
  DenseSource(const AttentionShape& shape, Layout layout, ConstArray key, ConstArray value);
  [[nodiscard]] RowRun keys(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const override;
  [[nodiscard]] RowRun values(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const override;

 private:
  struct Side {
    ConstArray array;
    Strides strides;
    [[nodiscard]] RowRun run(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const;
  };
  Side key_, value_;
};

}  // namespace headwise
