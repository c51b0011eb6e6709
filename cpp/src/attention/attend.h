#pragma once

#include "headwise/attention.h"

namespace headwise {

/// attention() for a call that validate() has accepted. It can still refuse empty rows, and a lack of memory.
[[nodiscard]] Status attend_checked(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                                    const AttentionOptions& options, const AttentionOutputs& outputs);

}  // namespace headwise
