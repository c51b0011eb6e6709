#include "headwise/row_operations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/rules.h"
#include "kernel/functions.h"
#include "kernel/kernel_table.h"

namespace headwise {

namespace {

// Not the kernel table's: in a wasm module this file belongs to the late part, and kernels do not.
using Arch = xsimd::default_arch;
using V = Floats<Arch>;
constexpr std::int64_t kLanes = V::size;

/// Columns of a row that one task computes.
constexpr std::int64_t kPiece = 1024;

Error check_rows(std::int64_t rows, std::int64_t width, std::initializer_list<const void*> arrays) {
  if (rows < 0 || width < 1) return refuse(Rule::row_extents, rows, width);
  std::int64_t floats = 0, bytes = 0;
  if (!multiply_sizes(rows, width, &floats) || !multiply_sizes(floats, kFloatBytes, &bytes))
    return refuse(Rule::row_size);
  for (const void* array : arrays)
    if (rows > 0 && !array) return refuse(Rule::row_arrays);
  return {};
}

/// `count` floats, at most a vector of them. The other lanes are 0.
V load_some(const float* at, std::int64_t count) {
  if (count >= kLanes) return V::load_unaligned(at);
  float some[kLanes] = {};
  std::copy_n(at, count, some);
  return V::load_unaligned(some);
}

void store_some(V values, float* at, std::int64_t count) {
  if (count >= kLanes) return values.store_unaligned(at);
  float some[kLanes];
  values.store_unaligned(some);
  std::copy_n(some, count, at);
}

/// The sum of f(x) over a row, in a fixed order. f(0) is 0 for the lanes that lie behind the row.
template <class F>
float sum_of(const float* x, std::int64_t width, F f) {
  V sums[4] = {V(0.0f), V(0.0f), V(0.0f), V(0.0f)};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes)
    for (int v = 0; v < 4; ++v) sums[v] += f(V::load_unaligned(x + i + v * kLanes), kLanes);
  for (; i < width; i += kLanes) sums[0] += f(load_some(x + i, width - i), width - i);
  return xsimd::reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// The lanes of a vector, with 0 from `count` on.
V first_lanes(V values, std::int64_t count) {
  if (count >= kLanes) return values;
  float some[kLanes];
  values.store_unaligned(some);
  return load_some(some, count);
}

/// What is known of a row whose numbers are multiplied by a power of two: that changes no bit of the norm, unless a
/// square leaves float32.
struct Moments {
  V scale, mean;
  float variance;  ///< and epsilon
};

Moments moments_of(const NormedRows& call, const float* x, float factor) {
  const auto width = static_cast<float>(call.width);
  const V scale(factor);
  const bool centred = call.norm == RowNorm::layer;
  const V mean(centred ? sum_of(x, call.width, [&](V values, std::int64_t) { return values * scale; }) / width : 0.0f);
  const float squares = sum_of(x, call.width, [&](V values, std::int64_t count) {
    const V distance = values * scale - mean;
    return first_lanes(distance * distance, count);
  });
  return {scale, mean, squares / width + call.epsilon * factor * factor};
}

/// The power of two by which the largest number of a row, or the root of epsilon, comes near 1; 1 if both are 0, and
/// with infinity or NaN.
float factor_of(const float* x, std::int64_t width, float epsilon) {
  float largest = std::sqrt(epsilon);
  for (std::int64_t i = 0; i < width; ++i) largest = std::max(largest, std::abs(x[i]));
  if (!(largest > 0 && largest < kInfinity)) return 1.0f;
  return std::ldexp(1.0f, std::clamp(-std::ilogb(largest), -126, 126));
}

/// y = (x - mean) * inverse * gain + shift
void norm_row(const NormedRows& call, const float* x, float* y) {
  constexpr float kLeast = 0x1p-90f, kMost = 0x1p120f;  // from here to there no square that counts has lost its digits
  Moments moments = moments_of(call, x, 1.0f);
  if (!(moments.variance >= kLeast && moments.variance <= kMost))
    moments = moments_of(call, x, factor_of(x, call.width, call.epsilon));
  // Equal numbers far above epsilon: the power of two has made 0 of epsilon.
  const bool is_flat = moments.variance == 0 && call.epsilon > 0;
  const V inverse(is_flat ? 0.0f : 1.0f / std::sqrt(moments.variance));
  for (std::int64_t i = 0; i < call.width; i += kLanes) {
    const std::int64_t count = call.width - i;
    V value = (load_some(x + i, count) * moments.scale - moments.mean) * inverse;
    if (call.gain) value = value * load_some(call.gain + i, count);
    if (call.shift) value = value + load_some(call.shift + i, count);
    store_some(value, y + i, count);
  }
}

/// x sigmoid(z) = x / (1 + exp(-z)). Below z = -87 the sigmoid is below 2^-125, and here 0, also times infinity.
struct Gated {
  V operator()(V x, V z) const {
    const V quotient = x / (V(1.0f) + exponential(xsimd::min(V(0.0f) - z, V(87.0f))));
    return xsimd::select(z < V(-87.0f), V(-0.0f), quotient);
  }
  const Exponential<Arch> exponential{};
};

/// x Phi(x) = x erfc(-x / sqrt 2) / 2, which keeps its digits where Phi is small.
V gelu_of(V x) {
  float values[kLanes];
  x.store_unaligned(values);
  for (float& value : values) {
    const double tail = std::erfc(-value * (1.0 / std::numbers::sqrt2));
    value = tail == 0 ? -0.0f : static_cast<float>(0.5 * value * tail);
  }
  return V::load_unaligned(values);
}

/// Calls `use` with the function of `kind`.
template <class Use>
void with_function(RowFunction kind, Use use) {
  const Gated gated;
  constexpr float kSlope = 1.59576912160573f;  // 2 sqrt(2 / pi)
  switch (kind) {
    case RowFunction::identity:
      return use([](V x) { return x; });
    case RowFunction::gelu:
      return use(gelu_of);
    case RowFunction::gelu_tanh:
      return use([&](V x) { return gated(x, V(kSlope) * x * (V(1.0f) + V(0.044715f) * x * x)); });
    case RowFunction::quick_gelu:
      return use([&](V x) { return gated(x, V(1.702f) * x); });
    case RowFunction::silu:
      return use([&](V x) { return gated(x, x); });
    case RowFunction::relu:
      return use([](V x) { return xsimd::select(x < V(0.0f), V(0.0f), x); });
    case RowFunction::tanh:
      const HyperbolicTangent<Arch> hyperbolic_tangent;
      return use([&](V x) { return hyperbolic_tangent(x); });
  }
}

/// `count` numbers times `scale`, at most a vector of them. The other lanes are -inf.
V scaled_scores(const float* x, std::int64_t count, V scale) {
  const V scores = load_some(x, count) * scale;
  if (count >= kLanes) return scores;
  float some[kLanes];
  scores.store_unaligned(some);
  std::fill(some + count, some + kLanes, -kInfinity);
  return V::load_unaligned(some);
}

/// The largest scale x of a row; NaN if one is NaN or +inf.
float largest_score(const float* x, std::int64_t width, V scale) {
  V largest(-kInfinity);
  auto poisoned = largest != largest;
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const V scores = scaled_scores(x + i, width - i, scale);
    largest = xsimd::max(largest, scores);
    poisoned = poisoned | !(scores < V(kInfinity));
  }
  return xsimd::any(poisoned) ? kNan : xsimd::reduce_max(largest);
}

void softmax_row(const SoftmaxRows& call, const float* x, float* y) {
  const V scale(call.scale);
  const float largest = largest_score(x, call.width, scale);
  if (std::isnan(largest) || largest == -kInfinity) {
    std::fill_n(y, call.width, std::isnan(largest) ? kNan : 0.0f);
    return;
  }
  const Exponential<Arch> exponential;
  V sums[4] = {V(0.0f), V(0.0f), V(0.0f), V(0.0f)};
  for (std::int64_t i = 0; i < call.width; i += kLanes) {
    const V weights = exponential(scaled_scores(x + i, call.width - i, scale) - V(largest));
    sums[i / kLanes % 4] += weights;
    store_some(weights, y + i, call.width - i);
  }
  const V sum(xsimd::reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3])));
  for (std::int64_t i = 0; i < call.width; i += kLanes)
    store_some(load_some(y + i, call.width - i) / sum, y + i, call.width - i);
}

/// Whether column a of a row comes before column b among the largest.
struct ComesBefore {
  const float* x;

  bool operator()(std::int32_t a, std::int32_t b) const {
    if (std::isnan(x[a]) != std::isnan(x[b])) return std::isnan(x[a]);
    return x[a] > x[b] || (!(x[a] < x[b]) && a < b);
  }
};

/// The first columns of the row are a heap, whose top is the last of those kept. A later column takes its place.
void top_row(const float* x, std::int64_t width, std::int64_t k, float* values, std::int32_t* indices) {
  const ComesBefore before{x};
  std::iota(indices, indices + k, 0);
  std::make_heap(indices, indices + k, before);
  for (std::int64_t i = k; i < width; ++i) {
    if (x[i] <= x[indices[0]] || !before(static_cast<std::int32_t>(i), indices[0])) continue;
    std::pop_heap(indices, indices + k, before);
    indices[k - 1] = static_cast<std::int32_t>(i);
    std::push_heap(indices, indices + k, before);
  }
  std::sort_heap(indices, indices + k, before);
  for (std::int64_t n = 0; n < k; ++n) values[n] = x[indices[n]];
}

/// scale tanh(x / divisor). A quotient that would be subnormal, and lose bits, is its own tanh.
template <class F>
V softcap_of(const MappedRows& call, V x, F tanh) {
  const V capped = tanh(x / V(call.divisor)) * V(call.scale);
  return xsimd::select(xsimd::abs(x) <= V(0x1p-125f * call.divisor), x * V(call.scale / call.divisor), capped);
}

/// Columns [first, end) of a row.
template <class F>
void map_piece(const MappedRows& call, std::int64_t row, std::int64_t first, std::int64_t end, F function) {
  const float* const x = call.x.data + row * call.x.stride;
  const float* const times = call.times.data ? call.times.data + row * call.times.stride : nullptr;
  const float* const plus = call.plus.data ? call.plus.data + row * call.plus.stride : nullptr;
  float* const y = call.y + row * call.width;
  for (std::int64_t i = first; i < end; i += kLanes) {
    const std::int64_t count = end - i;
    V value = load_some(x + i, count);
    value = call.divisor == 1.0f ? function(value) * V(call.scale) : softcap_of(call, value, function);
    if (times) value = value * load_some(times + i, count);
    if (plus) value = value + load_some(plus + i, count);
    store_some(value, y + i, count);
  }
}

}  // namespace

Status norm_rows(ThreadPool& pool, const NormedRows& call) {
  if (Error e = check_rows(call.rows, call.width, {call.x.data, call.y})) return e;
  if (Error e = check_choice(Argument::row_norm, call.norm, RowNorm::rms)) return e;
  if (!is_not_negative(call.epsilon)) return refuse(Rule::row_epsilon, call.epsilon);
  pool.parallel_for(call.rows, [&](std::int64_t row, int) {
    norm_row(call, call.x.data + row * call.x.stride, call.y + row * call.width);
  });
  return {};
}

Status map_rows(ThreadPool& pool, const MappedRows& call) {
  if (Error e = check_rows(call.rows, call.width, {call.x.data, call.y})) return e;
  if (Error e = check_choice(Argument::row_function, call.function, RowFunction::tanh)) return e;
  if (!is_positive(call.divisor)) return refuse(Rule::row_divisor, call.divisor);
  if (!std::isfinite(call.scale)) return refuse(Rule::row_scale, call.scale);
  const std::int64_t pieces = divide_up(call.width, kPiece);
  with_function(call.function, [&](auto function) {
    pool.parallel_for(call.rows * pieces, [&](std::int64_t task, int) {
      const std::int64_t first = task % pieces * kPiece;
      map_piece(call, task / pieces, first, std::min(first + kPiece, call.width), function);
    });
  });
  return {};
}

Status take_rows(ThreadPool& pool, const TakenRows& call) {
  if (Error e = check_rows(call.rows, call.width, {call.numbers, call.table.data, call.y})) return e;
  if (Error e = check_rows(call.table_rows, call.width, {})) return e;
  if (Error e = check_choice(Argument::table_dtype, call.table.dtype, Dtype::bfloat16)) return e;
  if (Error e = check_indices(Rule::row_number, Argument::none, call.numbers, call.rows, call.table_rows - 1)) return e;
  if (!std::isfinite(call.scale)) return refuse(Rule::row_scale, call.scale);
  if (call.table.dtype == Dtype::int8)
    for (std::int64_t row = 0; row < call.rows; ++row)
      if (!call.scales || !std::isfinite(call.scales[call.numbers[row]])) return refuse(Rule::row_scales);
  pool.parallel_for(call.rows, [&](std::int64_t row, int) {
    const std::int64_t number = call.numbers[row];
    const auto* const bytes = static_cast<const char*>(call.table.data);
    const RowRun run{.data = bytes + number * call.width * size_of(call.table.dtype),
                     .dtype = call.table.dtype,
                     .row_stride = static_cast<std::ptrdiff_t>(call.width),
                     .count = 1};
    float* const y = call.y + row * call.width;
    kernel_table().widen(run, call.width, y, call.width);
    const float scale = call.scales ? call.scales[number] * call.scale : call.scale;
    if (scale != 1.0f) kernel_table().scale(y, call.width, scale);
  });
  return {};
}

Status softmax_rows(ThreadPool& pool, const SoftmaxRows& call) {
  if (Error e = check_rows(call.rows, call.width, {call.x.data, call.y})) return e;
  if (!std::isfinite(call.scale)) return refuse(Rule::row_scale, call.scale);
  pool.parallel_for(call.rows, [&](std::int64_t row, int) {
    softmax_row(call, call.x.data + row * call.x.stride, call.y + row * call.width);
  });
  return {};
}

Status top_rows(ThreadPool& pool, const TopRows& call) {
  if (Error e = check_rows(call.rows, call.width, {call.x.data, call.values, call.indices})) return e;
  if (call.width > std::numeric_limits<std::int32_t>::max()) return refuse(Rule::row_size);
  if (call.k < 1 || call.k > call.width) return refuse(Rule::row_top, call.width, call.k);
  pool.parallel_for(call.rows, [&](std::int64_t row, int) {
    top_row(call.x.data + row * call.x.stride, call.width, call.k, call.values + row * call.k,
            call.indices + row * call.k);
  });
  return {};
}

}  // namespace headwise
