#include "attention/dropped_weights.h"

#include <algorithm>

#include "base/philox.h"

namespace headwise {

void drop(const Call& call, const Sequence& sequence, const QueryRow& row, std::int64_t first, std::int64_t count,
          float* values) {
  const auto [rate, seed] = call.options.dropout;
  if (rate == 0.0) return;
  constexpr std::int64_t kWords = 4;
  const auto word = [](auto number) { return static_cast<std::uint32_t>(number); };
  const std::uint32_t least = word(std::min(rate * 0x1p32, 0x1p32 - 1));
  const float factor = rate < 1.0 ? static_cast<float>(1.0 / (1.0 - rate)) : 0.0f;
  const std::int64_t number = &sequence - call.sequences;
  for (std::int64_t j = first; j < first + count;) {
    const auto words =
        philox({word(j / kWords), word(row.i), word(row.head), word(number)}, {word(seed), word(seed >> 32)});
    for (const std::int64_t end = std::min((j / kWords + 1) * kWords, first + count); j < end; ++j)
      values[j - first] *= words[j % kWords] < least ? 0.0f : factor;
  }
}

}  // namespace headwise
