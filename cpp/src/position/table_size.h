#pragma once

#include <cstdint>

#include "headwise/status.h"

namespace headwise {

/// Whether a table [rows, columns] can be counted.
[[nodiscard]] Status check_table_size(std::int64_t rows, std::int64_t columns);

}  // namespace headwise
