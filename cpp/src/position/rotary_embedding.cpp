#include <algorithm>
#include <cstdint>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/rules.h"
#include "base/strides.h"
#include "headwise/thread_pool.h"
#include "position/rotary.h"

namespace headwise {

namespace {

constexpr std::int64_t kTokensPerTask = 32;  // enough work to pay for claiming a task

/// Pair m of a head is the features first(m) and second(m).
struct Pairing {
  std::int64_t half;
  bool interleaved;
  [[nodiscard]] std::int64_t first(std::int64_t m) const { return interleaved ? 2 * m : m; }
  [[nodiscard]] std::int64_t second(std::int64_t m) const { return interleaved ? 2 * m + 1 : m + half; }
};

/// Turns one head of one token; y may be x. Features after the pairs are copied.
template <class In, class Out>
void turn(const In* x, Out* y, std::int64_t stride, std::int64_t head_dim, Pairing pairing, const float* cosines,
          const float* sines) {
  for (std::int64_t m = 0; m < pairing.half; ++m) {
    const std::int64_t i = pairing.first(m) * stride, j = pairing.second(m) * stride;
    const float a = load_element(x + i), b = load_element(x + j);
    store_element(y + i, a * cosines[m] - b * sines[m]);
    store_element(y + j, a * sines[m] + b * cosines[m]);
  }
  for (std::int64_t d = 2 * pairing.half; d < head_dim; ++d)
    store_element(y + d * stride, load_element(x + d * stride));
}

struct AngleRow {
  const float *cosines, *sines;
};

/// The angles of every token.
class TokenAngles {
 public:
  [[nodiscard]] virtual AngleRow of(std::int64_t b, std::int64_t s, int worker) const = 0;

 protected:
  ~TokenAngles() = default;
};

/// Rows of given tables.
struct TableAngles final : TokenAngles {
  const float *cosines, *sines;
  const std::int32_t* rows;
  std::int64_t length, half;
  TableAngles(const float* c, const float* s, const std::int32_t* r, std::int64_t l, std::int64_t h)
      : cosines(c), sines(s), rows(r), length(l), half(h) {}

  [[nodiscard]] AngleRow of(std::int64_t b, std::int64_t s, int) const override {
    const std::int64_t at = (rows ? rows[b * length + s] : s) * half;
    return {cosines + at, sines + at};
  }
};

/// Computed from positions [planes, B, S], in two rows of scratch for each worker.
struct PositionAngles final : TokenAngles {
  const RotaryAngles& angles;
  const double* positions;
  std::int64_t length, plane;  ///< plane: B * S if there are three, else 0
  float* scratch;
  PositionAngles(const RotaryAngles& a, const double* p, std::int64_t l, std::int64_t stride, float* memory)
      : angles(a), positions(p), length(l), plane(stride), scratch(memory) {}

  [[nodiscard]] AngleRow of(std::int64_t b, std::int64_t s, int worker) const override {
    float* row = scratch + 4 * angles.half() * worker;
    const double* const at = positions + b * length + s;
    if (plane > 0)
      angles.write_sections(at, plane, row, row + 2 * angles.half());
    else
      angles.write(*at, row);
    return {row, row + angles.half()};
  }
};

/// What is turned.
struct Rotation {
  Strides strides;
  std::int64_t num_heads, length, head_dim;
  Pairing pairing;
  const TokenAngles& angles;
};

/// Turns tokens [from, to) of batch b, all heads.
template <class In, class Out>
void turn_tokens(const Rotation& rotation, std::int64_t b, std::int64_t from, std::int64_t to, int worker, const In* x,
                 Out* y) {
  for (std::int64_t s = from; s < to; ++s) {
    const AngleRow row = rotation.angles.of(b, s, worker);
    for (std::int64_t h = 0; h < rotation.num_heads; ++h) {
      const std::int64_t at = b * rotation.strides.batch + h * rotation.strides.head + s * rotation.strides.position;
      turn(x + at, y + at, rotation.strides.feature, rotation.head_dim, rotation.pairing, row.cosines, row.sines);
    }
  }
}

template <class In, class Out>
void turn_all(ThreadPool& pool, const Rotation& rotation, std::int64_t batch_size, const In* x, Out* y) {
  const std::int64_t tasks = (rotation.length + kTokensPerTask - 1) / kTokensPerTask;
  pool.parallel_for(batch_size * tasks, [&](std::int64_t task, int worker) {
    const std::int64_t from = task % tasks * kTokensPerTask;
    turn_tokens(rotation, task / tasks, from, std::min(from + kTokensPerTask, rotation.length), worker, x, y);
  });
}

/// Turns x into y, float32 or float16 each.
void turn_array(ThreadPool& pool, const Rotation& rotation, std::int64_t batch_size, ConstArray x, MutableArray y) {
  const auto write_to = [&](auto* destination) {
    if (x.dtype == Dtype::float32)
      turn_all(pool, rotation, batch_size, static_cast<const float*>(x.data), destination);
    else
      turn_all(pool, rotation, batch_size, static_cast<const std::uint16_t*>(x.data), destination);
  };
  if (y.dtype == Dtype::float32)
    write_to(static_cast<float*>(y.data));
  else
    write_to(static_cast<std::uint16_t*>(y.data));
}

Error check_array(std::int64_t batch_size, std::int64_t num_heads, std::int64_t length, std::int64_t head_dim) {
  if (batch_size < 0 || num_heads < 0 || length < 0 || head_dim < 1) return refuse(Rule::rotary_extents);
  std::int64_t elements = 0, tokens = 0;
  if (!multiply_sizes(batch_size, length, &tokens) || !multiply_sizes(batch_size, num_heads, &elements) ||
      !multiply_sizes(elements, length, &elements) || !multiply_sizes(elements, head_dim, &elements))
    return refuse(Rule::size, Argument::x);
  return {};
}

Error check_arrays(ConstArray x, MutableArray y, bool has_elements) {
  if (!is_input_dtype(x.dtype) || !is_input_dtype(y.dtype)) return refuse(Rule::rotary_dtype);
  return check_given({{Argument::x, has_elements, x.data}, {Argument::output, has_elements, y.data}});
}

}  // namespace

Status rotary_embedding(ThreadPool& pool, Layout layout, std::int64_t batch_size, std::int64_t num_heads,
                        std::int64_t length, std::int64_t head_dim, std::int64_t rotary_dim, bool interleaved,
                        ConstArray x, const float* cosines, const float* sines, std::int64_t table_rows,
                        const std::int32_t* rows, MutableArray y) {
  if (Error e = check_layout(Argument::layout, layout)) return e;
  if (Error e = check_array(batch_size, num_heads, length, head_dim)) return e;
  if (Error e = check_rotary_dim(rotary_dim, head_dim)) return e;
  const bool has_elements = batch_size > 0 && num_heads > 0 && length > 0;
  if (Error e = check_arrays(x, y, has_elements)) return e;
  if (Error e =
          check_given({{Argument::cos_and_sin, has_elements, cosines}, {Argument::cos_and_sin, has_elements, sines}}))
    return e;
  if (!rows && table_rows < length) return refuse(Rule::row_per_token, length, table_rows);
  if (Error e = check_indices(Rule::token_row, Argument::none, rows, batch_size * length, table_rows - 1)) return e;
  if (batch_size == 0 || length == 0) return {};

  const TableAngles angles(cosines, sines, rows, length, rotary_dim / 2);
  turn_array(pool,
             {strides_of(layout, num_heads, length, head_dim), num_heads, length, head_dim,
              Pairing{rotary_dim / 2, interleaved}, angles},
             batch_size, x, y);
  return {};
}

void turn_head(const RotaryAngles& angles, const float* row, float* head) {
  const Pairing pairing{angles.half(), angles.interleaved()};
  turn(head, head, 1, 2 * pairing.half, pairing, row, row + pairing.half);
}

void turn_head_back(const RotaryAngles& angles, const float* row, float* head) {
  const Pairing pairing{angles.half(), angles.interleaved()};
  const float *const cosines = row, *const sines = row + pairing.half;
  for (std::int64_t m = 0; m < pairing.half; ++m) {
    float &first = head[pairing.first(m)], &second = head[pairing.second(m)];
    const float a = first, b = second;
    first = a * cosines[m] + b * sines[m];
    second = b * cosines[m] - a * sines[m];
  }
}

Error turn_at(ThreadPool& pool, Layout layout, std::int64_t batch_size, std::int64_t num_heads, std::int64_t length,
              std::int64_t head_dim, const RotaryAngles& angles, ConstArray x, const double* positions, MutableArray y,
              std::int64_t planes) {
  const std::int64_t row = 4 * angles.half();
  Buffer<float> scratch;
  if (Error e = scratch.allocate(pool.size() * row)) return e;
  if (batch_size == 0 || length == 0) return {};
  const PositionAngles computed(angles, positions, length, planes > 1 ? batch_size * length : 0, scratch.data());
  turn_array(pool,
             {strides_of(layout, num_heads, length, head_dim), num_heads, length, head_dim,
              Pairing{angles.half(), angles.interleaved()}, computed},
             batch_size, x, y);
  return {};
}

Status rotary_embedding_at(ThreadPool& pool, Layout layout, std::int64_t batch_size, std::int64_t num_heads,
                           std::int64_t length, std::int64_t head_dim, const RotaryOptions& options, ConstArray x,
                           const double* positions, MutableArray y) {
  if (Error e = check_layout(Argument::layout, layout)) return e;
  if (Error e = check_array(batch_size, num_heads, length, head_dim)) return e;
  if (Error e = validate_rotary(options, head_dim)) return e;
  if (Error e = check_positions(options, positions, batch_size * length)) return e;
  if (Error e = check_arrays(x, y, batch_size > 0 && num_heads > 0 && length > 0)) return e;
  RotaryAngles angles;
  if (Error e = angles.create(options, head_dim)) return e;
  return turn_at(pool, layout, batch_size, num_heads, length, head_dim, angles, x, positions, y);
}

}  // namespace headwise
