#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/kernel_table.h"

/// What the libFuzzer targets share.
namespace headwise {

/// Runs one input. Each target defines it. A failed expectation of GoogleTest ends the program: the fuzzer then keeps
/// the input.
void fuzz(const std::uint8_t* data, std::size_t size);

/// The kernels that this machine runs, the fastest first, and the scalar ones.
[[nodiscard]] std::vector<const KernelTable*> fuzzed_kernel_tables();

}  // namespace headwise
