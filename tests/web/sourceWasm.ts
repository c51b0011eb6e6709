// wasm by the sources, not by the built package: for tests that look into the engine.

import "./asBuilt.js";
import { bringFormulas } from "../../web/src/instance/parts/formulas.js";
import { nodeHost } from "../../web/src/load/nodeHost.js";
import type { WasmCore } from "../../web/src/wasm/core.js";
import { loadEngine } from "../../web/src/wasm/loader.js";

const dist = (file: string) => new URL(`../../dist/${file}`, import.meta.url).href;

/** The core of the plain SIMD variant, with one thread. Calls can have formulas. */
export async function openWasmCore(): Promise<WasmCore> {
  bringFormulas();
  const files = {
    simdGlue: dist("wasm/headwise.simd.node.js"),
    simdWasm: dist("wasm/headwise.simd.wasm"),
    simdLate: dist("wasm/headwise.simd.late.wasm"),
  };
  const chosen = { operation: "test", variant: "simd", asked: "simd", threads: 1, source: {} } as const;
  const given = { maximumMemory: 2 ** 28, signal: undefined, onProgress: undefined };
  return (await loadEngine(nodeHost(files), { ...chosen, ...given })).core;
}
