import type { GpuModule } from "../engine/gpuModule.js";
import type { EngineFiles } from "./engineFiles.js";
import { fetchWasm } from "./fetchAsset.js";
import { loadFiles, loadPart } from "./files.js";
import { MOST_THREADS_BY_DEFAULT, type Host } from "./host.js";

/** A page or one of its workers. `files` are the addresses of the engine's files. */
export const browserHost = (files: EngineFiles): Host => ({
  variants: ["simd", "relaxed"],
  threads() {
    const reason = reasonForOneThread();
    if (reason !== undefined) return { most: 1, good: 1, reason };
    return { most: Infinity, good: Math.min(navigator.hardwareConcurrency || 1, MOST_THREADS_BY_DEFAULT) };
  },
  async load(options) {
    const parts = await loadFiles(files, fetchWasm, options);
    // The threads of a worker start after the module has compiled. In Firefox 153 `new Worker` sometimes stops a worker for
    // good: in about 3 of 100 openings while a module compiles, and in about 1 of 1,000 afterwards.
    if (options.threads > 1 && typeof document === "undefined") await parts.compiling;
    return parts;
  },
  loadGpu: (operation) => loadPart<GpuModule>(operation, files, "gpu"),
});

/** Why this page or worker cannot have threads; undefined if it can. */
function reasonForOneThread(): string | undefined {
  if (typeof Worker !== "function") return "there is no Worker here";
  if (globalThis.crossOriginIsolated !== true)
    return (
      `page is not cross-origin isolated (COOP/COEP): serve it ${globalThis.isSecureContext ? "" : "by https and "}` +
      "with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp"
    );
  if (globalThis.origin === "null") return "page has an opaque origin (a sandboxed frame), which may not start threads";
  // WebKitGTK 2.50 says that the page is isolated, but does not offer it.
  if (typeof SharedArrayBuffer !== "function") return "this browser has no SharedArrayBuffer, also in an isolated page";
  return undefined;
}
