#pragma once

#include <cstdint>

namespace headwise {

/// The k largest visible values of a row, in descending order; ties go to the lower index. `count` is a multiple of the
/// panel width. values[0] belongs to key `first_key`. `candidates` has room for `count` numbers.
void select_top_k(const float* values, const std::uint8_t* visible, std::int64_t count, std::int64_t first_key,
                  std::int64_t k, std::uint64_t* candidates, float* top_values, std::int32_t* top_indices);

}  // namespace headwise
