#include "attention/shown_keys.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"

namespace headwise {

namespace {

// Fewer elements are not worth waking a worker.
constexpr std::int64_t kElementsPerTask = 1 << 16;

constexpr std::int64_t kWordBits = 64;

/// Whether some, and whether all, of the elements show their key.
struct Shown {
  bool any, all;
};

template <class T>
Shown shown(const T* data, std::int64_t count) {
  bool any = false, all = true;
  for (std::int64_t j = 0; j < count; ++j) {
    any |= !hides(data[j]);
    all &= !hides(data[j]);
  }
  return {any, all};
}

/// Eight bytes of a mask at a time: compilers do not make vectors of the loop above.
Shown shown(const std::uint8_t* data, std::int64_t count) {
  constexpr std::uint64_t kLow = 0x0101010101010101u, kHigh = 0x8080808080808080u;
  std::uint64_t any = 0, zeros = 0;  // kHigh & (x - kLow) & ~x has a bit if a byte of x is 0
  std::int64_t j = 0;
  for (; j + 8 <= count; j += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, data + j, sizeof bytes);
    any |= bytes;
    zeros |= (bytes - kLow) & ~bytes & kHigh;
  }
  const Shown rest = shown<std::uint8_t>(data + j, count - j);
  return {any != 0 || rest.any, zeros == 0 && rest.all};
}

}  // namespace

std::int64_t broadcast_row(const BroadcastExtents& extents, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t* extent = extents.extent;
  const std::int64_t head = (extent[0] == 1 ? 0 : b) * extent[1] + (extent[1] == 1 ? 0 : h);
  return head * extent[2] + (extent[2] == 1 ? 0 : i);
}

template <class T>
void ShownKeys::read_row(const T* data, std::int64_t row) {
  const std::int64_t count = extents_.extent[3];
  std::uint64_t* bits = bits_.data() + row * words_;
  std::fill_n(bits, words_, std::uint64_t{0});
  std::int64_t begin = count, end = 0;
  for (std::int64_t j = 0; j < count; j += panel_width_) {
    const std::int64_t panel = j / panel_width_, last = std::min(j + panel_width_, count);
    if (!shown(data + j, last - j).any) continue;
    bits[panel / kWordBits] |= std::uint64_t{1} << panel % kWordBits;
    begin = std::min(begin, j);
    end = last;
  }
  while (begin < end && hides(data[begin])) ++begin;
  while (begin < end && hides(data[end - 1])) --end;
  bool has_holes = false;
  for (std::int64_t j = begin; j < end && !has_holes; j += panel_width_)
    has_holes = !shown(data + j, std::min<std::int64_t>(panel_width_, end - j)).all;
  rows_[row] = {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end), has_holes};
}

template <class T>
Error ShownKeys::read_rows(ThreadPool& pool, const T* data, const BroadcastExtents& extents, int panel_width) {
  extents_ = extents;
  panel_width_ = panel_width;
  const std::int64_t count = extents.extent[3], rows = extents.extent[0] * extents.extent[1] * extents.extent[2];
  words_ = divide_up(count, kWordBits * panel_width) + 1;
  if (Error e = rows_.allocate(rows)) return e;
  if (Error e = bits_.allocate(rows * words_)) return e;
  const std::int64_t rows_per_task = divide_up(kElementsPerTask, std::max<std::int64_t>(count, 1));
  pool.parallel_for(divide_up(rows, rows_per_task), [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * rows_per_task, rows);
    for (std::int64_t row = task * rows_per_task; row < end; ++row) read_row(data + row * count, row);
  });
  return {};
}

Error ShownKeys::read(ThreadPool& pool, const std::uint8_t* mask, const BroadcastExtents& extents, int panel_width) {
  return read_rows(pool, mask, extents, panel_width);
}

Error ShownKeys::read(ThreadPool& pool, ConstArray bias, const BroadcastExtents& extents, int panel_width) {
  if (bias.dtype == Dtype::float16)
    return read_rows(pool, static_cast<const std::uint16_t*>(bias.data), extents, panel_width);
  return read_rows(pool, static_cast<const float*>(bias.data), extents, panel_width);
}

bool ShownKeys::narrow(std::int64_t b, std::int64_t h, std::int64_t i, KeyRange* keys) const {
  const Row& row = rows_[broadcast_row(extents_, b, h, i)];
  if (repeats_along_keys()) {
    if (row.begin >= row.end) *keys = {};
    return false;
  }
  *keys = {std::max<std::int64_t>(keys->begin, row.begin), std::min<std::int64_t>(keys->end, row.end)};
  return row.has_holes;
}

std::uint64_t ShownKeys::panels(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t first) const {
  if (repeats_along_keys()) return ~std::uint64_t{0};
  const std::uint64_t* bits = bits_.data() + broadcast_row(extents_, b, h, i) * words_;
  const auto from = [&](std::int64_t panel) {
    const std::int64_t word = panel / kWordBits, bit = panel % kWordBits;
    const std::uint64_t high = bit == 0 ? 0 : bits[word + 1] << (kWordBits - bit);
    return bits[word] >> bit | high;
  };
  const std::int64_t panel = first / panel_width_;
  // In a ragged batch `first` may lie within a panel of the array. The tile's panels then touch two of these.
  return first % panel_width_ == 0 ? from(panel) : from(panel) | from(panel + 1);
}

}  // namespace headwise
