import { AssetError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { assetHint } from "./assetErrors.js";

/** A wasm file. */
export interface WasmFile {
  readonly bytes: BufferSource;
  /** Its module, if the engine compiles the file while it arrives. */
  readonly compiling?: Promise<WebAssembly.Module> | undefined;
}

/**
 * Compiles a wasm file, if nothing does so yet.
 *
 * @param name - The name of the file in messages.
 */
export async function compiled(
  operation: string,
  { bytes, compiling }: WasmFile,
  name: string,
): Promise<WebAssembly.Module> {
  try {
    return await (compiling?.catch(() => WebAssembly.compile(bytes)) ?? WebAssembly.compile(bytes));
  } catch (cause) {
    throw compileError(operation, name, cause);
  }
}

/** The content type without which no engine compiles what arrives. */
const CONTENT_TYPE = /^application\/wasm$/i;

/**
 * Lets the engine compile a file while it arrives, and gives a copy of the response to read. The engine gets the server's own
 * response: only then do browsers keep what they have compiled for the next visit.
 */
export function compileOnArrival(response: Response): Pick<WasmFile, "compiling"> & { readonly copy: Response } {
  const isPossible = CONTENT_TYPE.test(response.headers.get("content-type") ?? "") && "compileStreaming" in WebAssembly;
  if (!isPossible) return { copy: response };
  const copy = response.clone();
  const compiling = WebAssembly.compileStreaming(response);
  compiling.catch(() => undefined); // whoever reads the copy finds out
  return { compiling, copy };
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
