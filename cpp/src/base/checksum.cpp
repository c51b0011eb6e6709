#include "base/checksum.h"

#include <array>
#include <bit>
#include <cstring>

namespace headwise {

namespace {

constexpr int kSlices = 8;
using Table = std::array<std::array<std::uint32_t, 256>, kSlices>;

/// made[k][byte] is the checksum of a byte and k zero bytes after it. Eight bytes then take eight independent
/// look-ups.
Table make_table() {
  Table table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
    table[0][byte] = crc;
  }
  for (int k = 1; k < kSlices; ++k)
    for (std::uint32_t byte = 0; byte < 256; ++byte)
      table[k][byte] = (table[k - 1][byte] >> 8) ^ table[0][table[k - 1][byte] & 0xffu];
  return table;
}

/// Made when it is first needed: as data it would be 8 KB of the module, and few programs save a cache.
const Table& table() {
  static const Table made = make_table();
  return made;
}

static_assert(std::endian::native == std::endian::little, "eight bytes are read as one little-endian number");

}  // namespace

std::uint32_t crc32(const std::uint8_t* bytes, std::int64_t count) {
  const Table& zeros = table();
  std::uint32_t crc = 0xffffffffu;
  for (; count >= kSlices; bytes += kSlices, count -= kSlices) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    word ^= crc;
    crc = 0;
    for (int k = 0; k < kSlices; ++k) crc ^= zeros[kSlices - 1 - k][(word >> (8 * k)) & 0xffu];
  }
  for (; count > 0; ++bytes, --count) crc = (crc >> 8) ^ zeros[0][(crc ^ *bytes) & 0xffu];
  return ~crc;
}

}  // namespace headwise
