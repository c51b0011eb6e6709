#include "headwise/status.h"

#include <cstdarg>
#include <cstdio>

namespace headwise {

Status Status::error(StatusCode code, const char* format, ...) {
  Status status;
  status.code = code;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(status.message, sizeof status.message, format, arguments);
  va_end(arguments);
  return status;
}

Status Status::out_of_memory(std::int64_t bytes) {
  return error(StatusCode::out_of_memory, "could not allocate %lld bytes", static_cast<long long>(bytes));
}

}  // namespace headwise
