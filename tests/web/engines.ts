import { relaxedSimd } from "wasm-feature-detect";

/** The wasm variants that this JavaScript engine can run. Node 20 has relaxed SIMD only behind a flag. */
export const variants: readonly ("simd" | "relaxed")[] = (await relaxedSimd()) ? ["simd", "relaxed"] : ["simd"];
