import type { Assets } from "./files.js";

/** Where the engine's files are, as text: a page tells its worker. */
export interface BrowserFiles {
  readonly simd: Assets;
  readonly relaxed: Assets;
  readonly gpu: string;
}

/** The package's own. Literal addresses, so that bundlers find the files and copy them; they must not look inside. */
export const browserFiles = (): BrowserFiles => ({
  simd: {
    glueUrl: new URL("./wasm/headwise.simd.js", import.meta.url).href,
    wasmUrl: new URL("./wasm/headwise.simd.wasm", import.meta.url).href,
  },
  relaxed: {
    glueUrl: new URL("./wasm/headwise.relaxed.js", import.meta.url).href,
    wasmUrl: new URL("./wasm/headwise.relaxed.wasm", import.meta.url).href,
  },
  gpu: new URL("./webgpu-engine.js", import.meta.url).href,
});
