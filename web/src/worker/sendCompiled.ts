import type { CompiledFile } from "../load/compiledFiles.js";
import type { CompiledFiles } from "./protocol.js";

/** Sends compiled files, so that the other side does not compile them too. */
export function sendCompiled(files: readonly CompiledFile[], send: (message: CompiledFiles) => void): void {
  if (files.length === 0) return;
  try {
    send({ kind: "compiled", files });
  } catch {
    // A runtime may refuse to send a compiled module. The other side then compiles the file.
  }
}
