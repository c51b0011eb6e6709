// Layers and caches: what an instance reads and gives to the user, and what WebAssembly makes.

export * from "../../wasm/makers.js";
export * from "./holders.js";
