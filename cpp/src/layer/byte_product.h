#pragma once

#include "base/numbers.h"
#include "kernel/kernel_table.h"
#include "kernel/row_run.h"

namespace headwise {

/// y += x * W for one row x, with a weight of int8 whose row o has the weights of output o, without their scales.
/// Infinities and NaNs give what they give in float32.
///
/// @param fixed  x as whole numbers
void multiply_row_by_bytes(const KernelTable& kernels, const float* x, const FixedPoint& fixed, const RowRun& weight,
                           float* y);

}  // namespace headwise
