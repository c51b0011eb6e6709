#pragma once

#include <array>
#include <cstdint>

namespace headwise {

/// Four random words for a counter and a key: Philox4x32 with 10 rounds (Salmon et al. 2011, "Parallel random numbers:
/// as easy as 1, 2, 3"). Equal arguments give equal words, in whatever order they are asked for.
[[nodiscard]] inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                         std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter[0], odd = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(even)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

}  // namespace headwise
