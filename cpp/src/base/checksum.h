#pragma once

#include <cstdint>

namespace headwise {

/// CRC-32 as in zlib and PNG (reflected polynomial 0xedb88320): it finds every burst of errors of up to 32 bits.
[[nodiscard]] std::uint32_t crc32(const std::uint8_t* bytes, std::int64_t count);

}  // namespace headwise
