#pragma once

// The steps of a rotary embedding whose arguments have been checked.

#include "headwise/array.h"
#include "headwise/position.h"
#include "headwise/status.h"

namespace headwise {

/// R, the number of features of a head that are turned.
[[nodiscard]] constexpr std::int64_t rotary_dim_of(const RotaryOptions& options, std::int64_t head_dim) {
  return options.rotary_dim ? options.rotary_dim : head_dim;
}

/// The rule on R alone.
[[nodiscard]] Status check_rotary_dim(std::int64_t rotary_dim, std::int64_t head_dim);

/// The rule on positions.
[[nodiscard]] Status check_positions(const double* positions, std::int64_t count);

/// rotary_tables() after its checks. Only memory can be refused.
[[nodiscard]] Status fill_rotary_tables(const RotaryOptions& options, std::int64_t head_dim, const double* positions,
                                        std::int64_t num_positions, float* cosines, float* sines);

/// rotary_embedding_at() after its checks. Only memory can be refused.
[[nodiscard]] Status turn_at(ThreadPool& pool, Layout layout, std::int64_t batch_size, std::int64_t num_heads,
                             std::int64_t length, std::int64_t head_dim, const RotaryOptions& options, ConstArray x,
                             const double* positions, MutableArray y);

}  // namespace headwise
