#include "layer/token_rows.h"

#include <algorithm>

#include "base/numbers.h"

namespace headwise {

namespace {

/// Where token `row`, counted over all batches, begins.
template <class Tokens>
std::int64_t token_offset(const Tokens& tokens, std::int64_t row) {
  return row / tokens.length * tokens.strides.batch + row % tokens.length * tokens.strides.position;
}

template <class Element>
void gather_elements(const Element* x, const ConstTokenRows& tokens, std::int64_t row, std::int64_t rows,
                     std::int64_t k, std::int64_t depth, float* floats) {
  constexpr std::int64_t kRowsAtATime = 32;
  const std::int64_t stride = tokens.strides.feature;
  for (std::int64_t first = 0; first < rows; first += kRowsAtATime, floats += kRowsAtATime * depth) {
    const std::int64_t count = std::min(kRowsAtATime, rows - first);
    const Element* x_r[kRowsAtATime];
    for (std::int64_t r = 0; r < count; ++r) x_r[r] = x + token_offset(tokens, row + first + r) + k * stride;
    if (stride == 1) {
      for (std::int64_t r = 0; r < count; ++r)
        for (std::int64_t d = 0; d < depth; ++d) floats[r * depth + d] = load_element(x_r[r] + d);
    } else {  // features in the outer loop, since tokens are neighbours in memory
      for (std::int64_t d = 0; d < depth; ++d)
        for (std::int64_t r = 0; r < count; ++r) floats[r * depth + d] = load_element(x_r[r] + d * stride);
    }
    for (std::int64_t r = 0; tokens.added && r < count; ++r)
      if (const float* added = tokens.added[row + first + r])
        for (std::int64_t d = 0; d < depth; ++d) floats[r * depth + d] += added[k + d];
  }
}

template <bool sums, class Element>
void scatter_elements(const float* floats, std::int64_t width, std::int64_t row, std::int64_t rows, std::int64_t column,
                      std::int64_t columns, const TokenRows& tokens, Element* y) {
  const std::int64_t stride = tokens.strides.feature;
  const auto store = [](Element* at, float value) { store_element(at, sums ? load_element(at) + value : value); };
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* floats_r = floats + r * width;
    Element* y_r = y + token_offset(tokens, row + r) + column * stride;
    if (stride == 1)
      for (std::int64_t c = 0; c < columns; ++c) store(y_r + c, floats_r[c]);
    else
      for (std::int64_t c = 0; c < columns; ++c) store(y_r + c * stride, floats_r[c]);
  }
}

}  // namespace

void gather(const ConstTokenRows& tokens, std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t depth,
            float* floats) {
  if (tokens.array.dtype == Dtype::float32)
    gather_elements(static_cast<const float*>(tokens.array.data), tokens, row, rows, k, depth, floats);
  else
    gather_elements(static_cast<const std::uint16_t*>(tokens.array.data), tokens, row, rows, k, depth, floats);
}

void scatter(const float* floats, std::int64_t width, std::int64_t row, std::int64_t rows, std::int64_t column,
             std::int64_t columns, const TokenRows& tokens) {
  if (tokens.array.dtype == Dtype::float32)
    scatter_elements<false>(floats, width, row, rows, column, columns, tokens, static_cast<float*>(tokens.array.data));
  else
    scatter_elements<false>(floats, width, row, rows, column, columns, tokens,
                            static_cast<std::uint16_t*>(tokens.array.data));
}

void scatter_sums(const float* floats, std::int64_t width, std::int64_t row, std::int64_t rows, std::int64_t column,
                  std::int64_t columns, const TokenRows& tokens) {
  scatter_elements<true>(floats, width, row, rows, column, columns, tokens, static_cast<float*>(tokens.array.data));
}

}  // namespace headwise
