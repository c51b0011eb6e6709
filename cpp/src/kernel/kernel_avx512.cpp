#include "kernel/kernels.h"

namespace headwise {
extern const KernelTable kernel_table_avx512;
constinit const KernelTable kernel_table_avx512 = kernels::make_kernel_table<xsimd::avx512dq>("avx512");
}  // namespace headwise
