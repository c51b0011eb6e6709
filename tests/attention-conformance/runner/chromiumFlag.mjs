// For Chromium's software adapter of WebGPU, SwiftShader.

/**
 * SwiftShader compiles the Vulkan extension that zeroes workgroup memory to one store for each word: a kernel of headwise
 * took 7.6 s. Without the extension Dawn writes a loop into the kernel, which zeroes the same memory, and it takes 1.0 s.
 */
export const ZEROING_EXTENSION = "use_vulkan_zero_initialize_workgroup_memory_extension";

export const CHROMIUM_FLAG = `--disable-dawn-features=${ZEROING_EXTENSION}`;
