#include "kernel/kernels.h"

namespace headwise {
extern const KernelTable kernel_table_sse2;
constinit const KernelTable kernel_table_sse2 = kernels::make_kernel_table<xsimd::sse2>("sse2");
}  // namespace headwise
