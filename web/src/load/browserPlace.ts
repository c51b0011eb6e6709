import type { Place } from "./engineFiles.js";

/** A page or one of its workers. */
export const browserPlace: Place = {
  // Bundlers copy the files that these literals name. They must not bundle what is in the files.
  own: () => ({
    simdGlue: new URL("./wasm/headwise.simd.js", import.meta.url).href,
    simdWasm: new URL("./wasm/headwise.simd.wasm", import.meta.url).href,
    simdLate: new URL("./wasm/headwise.simd.late.wasm", import.meta.url).href,
    relaxedGlue: new URL("./wasm/headwise.relaxed.js", import.meta.url).href,
    relaxedWasm: new URL("./wasm/headwise.relaxed.wasm", import.meta.url).href,
    relaxedLate: new URL("./wasm/headwise.relaxed.late.wasm", import.meta.url).href,
    gpu: new URL("./webgpu-engine.js", import.meta.url).href,
    auto: new URL("./auto-engine.js", import.meta.url).href,
    worker: new URL("./worker-entry.js", import.meta.url).href,
  }),
  ending: "js",
  absolute(address) {
    const base = typeof document === "object" ? document.baseURI : (globalThis.location as Location | undefined)?.href;
    return new URL(address, base).href;
  },
};
