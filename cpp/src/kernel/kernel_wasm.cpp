#include <iterator>

#include "kernel/kernels.h"

namespace headwise {

namespace {

using kernels::make_kernel_table;
using Arch = xsimd::wasm;

// A wasm module holds one instruction set. JavaScript decides which module to load. The tables differ only in the block
// of `multiply`, so all give the same bits, and panels fit all of them. `BlockRace` chooses.
constinit const KernelTable tables[] = {
    make_kernel_table<Arch>(kWasmVariant, "2x4"),  // needs 14 registers, wherever the compiler loads a step's operands
    make_kernel_table<Arch, 6, 2>(kWasmVariant,
                                  "6x2"),  // hides more of the latency, where the compiler loads them late
    make_kernel_table<Arch, 4, 4>(kWasmVariant, "4x4"),  // 32 registers and four multiply-add pipes
    make_kernel_table<Arch, 6, 4>(kWasmVariant, "6x4"),  // a compiler that joins pairs of vectors: 12 sums of 256 bits
};

static_assert(kernels::kPanelWidth<Arch> == 16, "JavaScript fills panels too: see web/src/linear/weight.ts");

KernelTable chosen = tables[0];

}  // namespace

const KernelTable& kernel_table() { return chosen; }
const KernelTable* kernel_table_at(int index) { return index < std::ssize(tables) ? &tables[index] : nullptr; }
void use_kernel_table(const KernelTable* table) { chosen = table ? *table : tables[0]; }

}  // namespace headwise
