#include "kernel/kernels.h"

namespace headwise {
extern const KernelTable kernel_table_avx2;
constinit const KernelTable kernel_table_avx2 = kernels::make_kernel_table<xsimd::fma3<xsimd::avx2>>("avx2");
}  // namespace headwise
