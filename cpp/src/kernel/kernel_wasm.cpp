#include "kernel/kernels.h"

namespace headwise {

namespace {
constinit const KernelTable table = kernels::make_kernel_table<xsimd::wasm>(kWasmVariant);
}

// A wasm module holds one instruction set. JavaScript decides which module to load.
const KernelTable& kernel_table() { return table; }
const KernelTable* kernel_table_at(int index) { return index == 0 ? &table : nullptr; }
void use_kernel_table(const KernelTable*) {}

}  // namespace headwise
