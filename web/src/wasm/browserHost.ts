import { fetchWasm } from "./fetchAsset.js";
import { loadFiles, loadGpuFile } from "./files.js";
import { MOST_THREADS_BY_DEFAULT, type Host } from "./host.js";

// Literal addresses, so that bundlers find the files and copy them; they must not look inside.
const ASSETS = {
  simd: () => ({
    glueUrl: new URL("./wasm/headwise.simd.js", import.meta.url).href,
    wasmUrl: new URL("./wasm/headwise.simd.wasm", import.meta.url).href,
  }),
  relaxed: () => ({
    glueUrl: new URL("./wasm/headwise.relaxed.js", import.meta.url).href,
    wasmUrl: new URL("./wasm/headwise.relaxed.wasm", import.meta.url).href,
  }),
};

/** A page, or a worker of one. */
export const browserHost: Host = {
  variants: ["simd", "relaxed"],
  threads() {
    if (typeof Worker !== "function") return { most: 1, good: 1, reason: "there is no Worker here" };
    if (globalThis.crossOriginIsolated !== true)
      return {
        most: 1,
        good: 1,
        reason:
          "page is not cross-origin isolated (COOP/COEP): serve it with Cross-Origin-Opener-Policy: same-origin " +
          "and Cross-Origin-Embedder-Policy: require-corp",
      };
    return { most: Infinity, good: Math.min(navigator.hardwareConcurrency || 1, MOST_THREADS_BY_DEFAULT) };
  },
  load: (options) => loadFiles(ASSETS[options.variant](), fetchWasm, options),
  loadGpu: () => loadGpuFile(new URL("./webgpu-engine.js", import.meta.url).href),
};
