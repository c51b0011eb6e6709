import { pathToFileURL } from "node:url";

import type { Place } from "./engineFiles.js";

/** Node and compatible runtimes. */
export const nodePlace: Place = {
  own: () => ({
    simdGlue: new URL("./wasm/headwise.simd.node.js", import.meta.url).href,
    simdWasm: new URL("./wasm/headwise.simd.wasm", import.meta.url).href,
    simdLate: new URL("./wasm/headwise.simd.late.wasm", import.meta.url).href,
    relaxedGlue: new URL("./wasm/headwise.relaxed.node.js", import.meta.url).href,
    relaxedWasm: new URL("./wasm/headwise.relaxed.wasm", import.meta.url).href,
    relaxedLate: new URL("./wasm/headwise.relaxed.late.wasm", import.meta.url).href,
    gpu: new URL("./webgpu-engine.js", import.meta.url).href,
    worker: new URL("./worker-entry.node.js", import.meta.url).href,
  }),
  ending: "node.js",
  /** An address without a scheme is a path. The letter of a Windows drive is not a scheme. */
  absolute: (address) => (/^[a-z][a-z\d+.-]+:/i.test(address) ? new URL(address) : pathToFileURL(address)).href,
};
