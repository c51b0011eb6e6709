#pragma once

#include <cstdint>

#include "headwise/array.h"
#include "headwise/status.h"

namespace headwise {

class ThreadPool;

enum class RotaryScaling : std::int32_t {
  none = 0,
  linear = 1,
  ntk = 2,
  dynamic_ntk = 3,
  yarn = 4,
  llama3 = 5,
  longrope = 6,
  frequencies = 7,  ///< none of these: theta_m are given
  tables = 8,       ///< cos and sin are given, a row for each position
};

/// Rotary embedding (Su et al. 2021). The pair (x_m, x_m+R/2), or (x_2m, x_2m+1) if interleaved, is turned by the angle
/// position * theta_m, with theta_m = base^(-2m/R) and R = rotary_dim. Features from R on stay as they are.
struct RotaryOptions {
  std::int64_t rotary_dim = 0;  ///< even, 2..D; 0 means D
  double base = 10000.0;
  bool interleaved = false;  ///< pairs are neighbours; default: pairs are half a width apart
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1.0;           ///< > 0; by how much the context may be longer than original_length
  double original_length = 0.0;  ///< dynamic ntk, yarn, llama3: the length the model was trained for
  /// dynamic ntk, longrope: the current length. Up to original_length, dynamic ntk scales nothing, and longrope uses
  /// the short factors.
  double sequence_length = 0.0;
  double beta_fast = 32.0, beta_slow = 1.0;  ///< yarn ramp, in rotations over original_length
  bool truncate = true;                      ///< yarn: the ramp begins and ends at whole pairs (gpt-oss: false)
  /// yarn: multiplies cos and sin. 0 means m(mscale) / m(mscale_all_dim) if both are given, else m(1).
  /// m(w) = 0.1 w ln(factor) + 1, or 1 if factor <= 1.
  /// longrope: 0 means sqrt(1 + ln(factor) / ln(original_length)), or 1 if factor <= 1. frequencies: 0 means 1.
  double attention_factor = 0.0;
  double mscale = 0.0, mscale_all_dim = 0.0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;            ///< llama3, in rotations over original_length
  const double *short_factors = nullptr, *long_factors = nullptr;  ///< longrope: [R/2], theta_m is divided by them
  const double* frequencies = nullptr;                             ///< frequencies: theta_m, [R/2], used as they are
  const float *cosines = nullptr, *sines = nullptr;                ///< tables: [table_rows, R/2]
  std::int64_t table_rows = 0;
  /// M-RoPE (Wang et al. 2024): so many pairs turn by the first plane of positions, so many by the second, and the
  /// rest, R/2 in all, by the third. All 0: there are no sections. Layers and caches take them.
  std::int64_t temporal_section = 0, height_section = 0, width_section = 0;
};

/// Positions of tokens [B, S], in place of their indices. With sections there are three planes, [3, B, S].
struct TokenPositions {
  const std::int32_t* data = nullptr;
  std::int64_t planes = 1;
};

/// The rules on the options.
[[nodiscard]] Status validate_rotary(const RotaryOptions& options, std::int64_t head_dim);

/// theta_m for m < rotary_dim / 2, after scaling, and the factor on cos and sin. Refuses tables, which have none.
/// Scalings are as published: linear (Chen et al. 2023), ntk and dynamic ntk (NTK-aware base), yarn (Peng et al. 2023),
/// llama3 (Llama 3.1), longrope (Ding et al. 2024). Formulas and defaults are those of Hugging Face transformers.
[[nodiscard]] Status rotary_frequencies(const RotaryOptions& options, std::int64_t head_dim, double* theta,
                                        double* amplitude);

/// Fills cos and sin tables [num_positions, rotary_dim/2]. They are computed in double and rounded once.
[[nodiscard]] Status rotary_tables(const RotaryOptions& options, std::int64_t head_dim, const double* positions,
                                   std::int64_t num_positions, float* cosines, float* sines);

/// Turns x [B, H, S, D] in `layout` by given tables, and writes y. y may be x if both have one dtype. cos and sin are
/// [table_rows, rotary_dim/2]. Token (b, s) uses row rows[b * S + s], or row s if `rows` is null. Every row number must
/// be in the tables.
[[nodiscard]] Status rotary_embedding(ThreadPool& pool, Layout layout, std::int64_t batch_size, std::int64_t num_heads,
                                      std::int64_t length, std::int64_t head_dim, std::int64_t rotary_dim,
                                      bool interleaved, ConstArray x, const float* cosines, const float* sines,
                                      std::int64_t table_rows, const std::int32_t* rows, MutableArray y);

/// Turns x by the positions of its tokens, [B, S]. It is rotary_tables() and rotary_embedding() in one call.
[[nodiscard]] Status rotary_embedding_at(ThreadPool& pool, Layout layout, std::int64_t batch_size,
                                         std::int64_t num_heads, std::int64_t length, std::int64_t head_dim,
                                         const RotaryOptions& options, ConstArray x, const double* positions,
                                         MutableArray y);

enum class SinusoidalSplit : std::int32_t {
  interleaved = 0,  ///< (sin, cos) pairs: Vaswani et al. 2017
  halves = 1,  ///< [sin…, cos…]: tensor2tensor's timing signal, geometric from 1 to 1/10000 over width/2 - 1 steps
};

/// Fills a position table [length, width]. With an odd width the last column is 0 (halves) or a sine (interleaved).
[[nodiscard]] Status sinusoidal_positions(std::int64_t length, std::int64_t width, SinusoidalSplit split, double base,
                                          float* table);

/// ALiBi slopes (Press et al. 2022) for any number of heads n. If n is a power of two, slope h is 2^(-8(h+1)/n).
/// Otherwise they are the slopes of the next lower power of two, followed by every second slope of the next higher one.
[[nodiscard]] Status alibi_slopes(std::int64_t num_heads, float* slopes);

/// T5's relative-position bias [num_heads, Sq, Skv] from a table [num_buckets, num_heads] (Raffel et al. 2020).
[[nodiscard]] Status relative_position_bias(const float* table, std::int64_t num_buckets, std::int64_t max_distance,
                                            bool bidirectional, std::int64_t num_heads, std::int64_t query_length,
                                            std::int64_t key_length, std::int64_t query_offset, float* bias);

}  // namespace headwise
