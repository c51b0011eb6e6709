import { AssetError } from "../errors.js";
import { assetHint } from "./assetErrors.js";

/**
 * Compiles a wasm file.
 *
 * @param name - What messages call these bytes.
 */
export async function compiled(bytes: ArrayBuffer | Uint8Array, name: string): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(bytes as BufferSource);
  } catch (cause) {
    throw compileError(name, cause);
  }
}

function compileError(what: string, cause: unknown): AssetError {
  const text = String(cause);
  if (/unsafe-eval|content security policy/i.test(text))
    return new AssetError(`createAttention: the page's content security policy forbids WebAssembly: ${text}`, {
      code: "ASSET_BLOCKED",
      cause,
      hint: "Allow it with script-src 'self' 'wasm-unsafe-eval'; 'unsafe-eval' is not needed.",
    });
  return new AssetError(`createAttention: ${what} is not a module that this engine compiles: ${text}`, {
    code: "ASSET_INVALID",
    cause,
    hint: assetHint(what),
  });
}
