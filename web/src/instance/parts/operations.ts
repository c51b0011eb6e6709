// The operations but attention: what an instance reads, and what WebAssembly runs.

export * from "../../wasm/runners.js";
export * from "./readers.js";
