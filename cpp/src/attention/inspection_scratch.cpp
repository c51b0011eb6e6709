#include "attention/inspection_scratch.h"

#include <algorithm>

#include "base/memory.h"

namespace headwise {

namespace {

// Rows that share one packing of the keys. Their scores take at most 4 MiB.
constexpr std::int64_t kMaxInspectedRows = 64;
constexpr std::int64_t kMaxScoreFloats = 1 << 20;
// Keys that are packed at a time. They take at most 512 KiB.
constexpr std::int64_t kMaxInspectedKeys = 192;
constexpr std::int64_t kMaxKeyFloats = 1 << 17;
// Formulas are evaluated row by row, for so many keys at a time.
constexpr FormulaRoom kRoom{1, 1, 256};

}  // namespace

InspectionSizes inspection_sizes(const Call& call) {
  const std::int64_t width = round_up(std::max<std::int64_t>(call.key_length, 1), call.kernels.panel_width);
  const std::int64_t rows = std::clamp<std::int64_t>(kMaxScoreFloats / width, 1, kMaxInspectedRows);
  const std::int64_t fitting =
      kMaxKeyFloats / call.shape.head_dim / call.kernels.panel_width * call.kernels.panel_width;
  const std::int64_t keys =
      std::clamp<std::int64_t>(fitting, call.kernels.panel_width, std::min(kMaxInspectedKeys, width));
  return {round_up(rows, call.kernels.row_step), width, keys};
}

namespace {

/// Floats of `query`; -1 on overflow.
std::int64_t query_floats(const Call& call) {
  std::int64_t floats = 0;
  return multiply_sizes(inspection_sizes(call).rows, round_up(call.shape.head_dim, 16), &floats) ? floats : -1;
}

/// Floats of `out` and `values`; -1 on overflow.
std::int64_t value_floats(const Call& call) {
  std::int64_t floats = 0;
  if (call.inputs.probs.given() && !multiply_sizes(kValueRows + 1, call.shape.value_dim, &floats)) return -1;
  return round_up(floats, 16);
}

/// Bytes without those of the formulas; -1 on overflow.
std::int64_t plain_bytes(const Call& call) {
  const InspectionSizes sizes = inspection_sizes(call);
  std::int64_t keys;
  const std::int64_t query = query_floats(call);
  if (query < 0) return -1;
  if (!multiply_sizes(sizes.keys, call.shape.head_dim, &keys)) return -1;
  const std::int64_t values = value_floats(call);
  if (values < 0) return -1;
  const std::int64_t queries = call.inputs.kept_query ? 2 * query : query;
  const std::int64_t floats = queries + round_up(keys, 16) + (2 * sizes.rows + 3) * sizes.width + values;
  return round_up(floats * static_cast<std::int64_t>(sizeof(float)) + (sizes.rows + 1) * sizes.width, 64);
}

}  // namespace

InspectionScratch::InspectionScratch(const Call& call, char* memory) : sizes(inspection_sizes(call)) {
  auto* floats = reinterpret_cast<float*>(memory);
  query = floats, floats += query_floats(call);
  kept_query = floats, floats += call.inputs.kept_query ? query_floats(call) : 0;
  keys = floats, floats += round_up(sizes.keys * call.shape.head_dim, 16);
  scores = floats, floats += sizes.rows * sizes.width;
  mean = floats, floats += sizes.rows * sizes.width;
  row = floats, floats += sizes.width;
  out = floats, values = floats + call.shape.value_dim, floats += value_floats(call);
  candidates = reinterpret_cast<std::uint64_t*>(floats), floats += 2 * sizes.width;
  visible = reinterpret_cast<std::uint8_t*>(floats);
  any = visible + sizes.width;
  formulas.place(memory + plain_bytes(call), call.formulas, call.kernels, kRoom, 0);
}

std::int64_t inspection_bytes(const Call& call) {
  const std::int64_t plain = plain_bytes(call);
  return plain < 0 ? -1 : plain + TileFormulas::bytes(call.formulas, call.kernels, kRoom, 0);
}

}  // namespace headwise
