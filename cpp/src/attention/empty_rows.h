#pragma once

#include "attention/call.h"

namespace headwise {

/// EmptyRows::fail: an error that names the first rows that see no key. Visibility alone decides. Rows whose weights
/// the call gives are not empty.
[[nodiscard]] Status find_empty_rows(const Call& call);

}  // namespace headwise
