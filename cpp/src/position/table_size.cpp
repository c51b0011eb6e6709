#include "position/table_size.h"

#include "base/memory.h"

namespace headwise {

Status check_table_size(std::int64_t rows, std::int64_t columns) {
  std::int64_t elements = 0;
  if (rows < 0 || columns < 1)
    return Status::error(StatusCode::invalid_shape, "length must be >= 0 and width >= 1, got %lld and %lld",
                         static_cast<long long>(rows), static_cast<long long>(columns));
  if (!multiply_sizes(rows, columns, &elements))
    return Status::error(StatusCode::invalid_shape, "the size of the table overflows");
  return {};
}

}  // namespace headwise
