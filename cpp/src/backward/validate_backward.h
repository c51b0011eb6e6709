#pragma once

#include "headwise/backward.h"

namespace headwise {

/// Every rule of the contract that can be checked without reading the arrays. Allocates nothing.
[[nodiscard]] Status validate_backward(const AttentionShape& shape, const BackwardInputs& inputs,
                                       const AttentionOptions& options, const BackwardOutputs& outputs);

}  // namespace headwise
