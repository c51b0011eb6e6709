#include <xsimd/xsimd.hpp>

#include "kernel/kernel_table.h"

namespace headwise {

extern const KernelTable kernel_table_avx512, kernel_table_avx2, kernel_table_sse2;

const KernelTable* kernel_table_at(int index) {
  static const auto available = xsimd::available_architectures();
  const KernelTable* tables[] = {available.avx512dq ? &kernel_table_avx512 : nullptr,
                                 available.fma3_avx2 ? &kernel_table_avx2 : nullptr, &kernel_table_sse2};
  for (const KernelTable* table : tables)
    if (table && index-- == 0) return table;
  return nullptr;
}

namespace {
const KernelTable* chosen_table = nullptr;
}

void use_kernel_table(const KernelTable* table) { chosen_table = table; }

const KernelTable& kernel_table() { return chosen_table ? *chosen_table : *kernel_table_at(0); }

}  // namespace headwise
