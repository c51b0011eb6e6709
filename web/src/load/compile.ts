import { AssetError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { assetHint } from "./assetErrors.js";

/**
 * Compiles the bytes of a wasm file.
 *
 * @param name - The name of these bytes in messages.
 */
export async function compiled(operation: string, bytes: BufferSource, name: string): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    throw compileError(operation, name, cause);
  }
}

function compileError(operation: string, what: string, cause: unknown): AssetError {
  const text = thrownText(cause);
  if (/disallowed by embedder/i.test(text))
    return new AssetError(`${operation}: WebAssembly may not be compiled here: ${text}`, {
      code: "ASSET_BLOCKED",
      cause,
      hint:
        "Import headwise/inline and the compiled module headwise/wasm/headwise.inline.wasm, and give the module as " +
        "`wasm: { module }`.",
    });
  if (/unsafe-eval|content security policy|blocked by CSP/i.test(text))
    return new AssetError(`${operation}: the page's content security policy forbids WebAssembly: ${text}`, {
      code: "ASSET_BLOCKED",
      cause,
      hint: "Allow it with script-src 'self' 'wasm-unsafe-eval'; 'unsafe-eval' is not needed.",
    });
  return new AssetError(`${operation}: ${what} is not a module that this engine compiles: ${text}`, {
    code: "ASSET_INVALID",
    cause,
    hint: assetHint(what),
  });
}
