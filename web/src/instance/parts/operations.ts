// All operations but attention: what an instance reads, what WebAssembly runs, and how backend "auto" places layers and caches.

export * from "../../wasm/runners.js";
export * from "../../auto/placed.js";
export * from "../readers.js";
