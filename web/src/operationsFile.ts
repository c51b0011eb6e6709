// The file that entries with files beside them load when an operation beside scaledDotProductAttention is first called.

export * from "./operations.js";
export * as wasm from "./wasm/operations.js";
