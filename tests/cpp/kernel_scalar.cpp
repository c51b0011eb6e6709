// The kernels without vector instructions: xsimd computes each lane of 128 bits by itself. Fuzzers compare them.

#define XSIMD_WITH_EMULATED 1

#include "kernel/kernels.h"

namespace headwise {
extern const KernelTable kernel_table_scalar;
constinit const KernelTable kernel_table_scalar = kernels::make_kernel_table<xsimd::emulated<128>>("scalar");
}  // namespace headwise
