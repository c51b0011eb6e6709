#pragma once

#include <cstdint>

namespace headwise {

/// What JavaScript holds in place of a pointer.
using Address = std::uintptr_t;

}  // namespace headwise
