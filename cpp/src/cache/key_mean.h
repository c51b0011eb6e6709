#pragma once

#include <cstdint>

#include "source/key_value_source.h"

namespace headwise {

/// Floats of scratch for mean_of_keys.
[[nodiscard]] constexpr std::int64_t key_mean_scratch(std::int64_t width) { return 3 * width; }

/// The mean of the first `count` keys of a head, [width], without the rows that have a NaN or an infinity. It is what a
/// cache of int8 subtracts from all keys of the head before it quantises them. A feature whose mean may be chance has 0
/// instead, because a chance number would only make the keys longer: with n rows, a mean within 5 / sqrt(n) of the
/// average magnitude of all features. For normal numbers around 0 that is four standard errors. Means from 2^64 on also
/// count as 0: subtracting them could overflow.
void mean_of_keys(const KeyValueSource& keys, std::int64_t b, std::int64_t g, std::int64_t count, std::int64_t width,
                  float* scratch, float* mean);

}  // namespace headwise
