#pragma once

#include <cstdint>

#include "headwise/array.h"
#include "headwise/status.h"
#include "headwise/thread_pool.h"

/// What a network computes between its products, on rows of float32. Each row is computed by itself, so its bits do not
/// depend on the other rows or the threads. A result may be written over `x`.
namespace headwise {

/// Rows of `width` floats, `stride` floats apart. Stride 0: every row is the same one.
struct FloatRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

enum class RowNorm : std::int32_t {
  layer = 0,  ///< (x - mean) / sqrt(variance + epsilon) (Ba et al. 2016)
  rms = 1,    ///< x / sqrt(mean(x^2) + epsilon) (Zhang & Sennrich 2019)
};

/// y = norm(x) * gain + shift
struct NormedRows {
  RowNorm norm = RowNorm::layer;
  std::int64_t rows = 0, width = 1;
  FloatRows x{};
  const float* gain = nullptr;   ///< [width]; null is 1
  const float* shift = nullptr;  ///< [width]; null is 0
  float epsilon = 0.0f;          ///< finite and >= 0
  float* y = nullptr;            ///< [rows, width]
};
[[nodiscard]] Status norm_rows(ThreadPool& pool, const NormedRows& call);

/// A function of one number. An error is at most 2^-21 |x|; identity and relu have none.
enum class RowFunction : std::int32_t {
  identity = 0,
  gelu = 1,        ///< x Phi(x), with the normal distribution Phi (Hendrycks & Gimpel 2016)
  gelu_tanh = 2,   ///< x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), from the same paper
  quick_gelu = 3,  ///< x sigmoid(1.702 x), from the same paper
  silu = 4,        ///< x sigmoid(x) (Elfwing et al. 2017)
  relu = 5,        ///< max(x, 0)
  tanh = 6,
};

/// y = scale f(x) times + plus. With `tanh`, x is divided by `divisor` first: a softcap has scale = divisor = cap.
struct MappedRows {
  RowFunction function = RowFunction::identity;
  std::int64_t rows = 0, width = 1;
  FloatRows x{};
  float divisor = 1.0f;  ///< finite and > 0
  float scale = 1.0f;    ///< finite
  FloatRows times{};     ///< null is 1
  FloatRows plus{};      ///< null is 0
  float* y = nullptr;    ///< [rows, width]
};
[[nodiscard]] Status map_rows(ThreadPool& pool, const MappedRows& call);

/// y[n] = scale table[numbers[n]]
struct TakenRows {
  std::int64_t rows = 0, width = 1;
  const std::int32_t* numbers = nullptr;  ///< [rows], each in 0..table_rows - 1
  ConstArray table{};                     ///< [table_rows, width], of any type
  std::int64_t table_rows = 0;
  const float* scales = nullptr;  ///< int8: [table_rows], finite
  float scale = 1.0f;             ///< finite
  float* y = nullptr;             ///< [rows, width]
};
[[nodiscard]] Status take_rows(ThreadPool& pool, const TakenRows& call);

/// y = softmax(scale x) of each row. A row that is -inf in every column gives 0. A row in which scale x is NaN or +inf
/// somewhere gives NaN in every column.
struct SoftmaxRows {
  std::int64_t rows = 0, width = 1;
  FloatRows x{};
  float scale = 1.0f;  ///< finite
  float* y = nullptr;  ///< [rows, width]
};
[[nodiscard]] Status softmax_rows(ThreadPool& pool, const SoftmaxRows& call);

/// The k largest numbers of each row, the largest first. Of equal ones the lower index is first; -0 equals 0. NaN comes
/// before every number.
struct TopRows {
  std::int64_t rows = 0, width = 1;  ///< width < 2^31
  FloatRows x{};
  std::int64_t k = 1;               ///< 1..width
  float* values = nullptr;          ///< [rows, k]; must not overlap x
  std::int32_t* indices = nullptr;  ///< [rows, k]: the columns of the values
};
[[nodiscard]] Status top_rows(ThreadPool& pool, const TopRows& call);

}  // namespace headwise
