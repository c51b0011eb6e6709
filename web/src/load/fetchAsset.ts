import { AssetError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { beforeAbort, onAbort, throwIfAborted } from "../read/abort.js";
import { answerOf, firstBytes, statusOf } from "./answer.js";
import { assetHint } from "./assetErrors.js";
import { compileOnArrival, type WasmFile } from "./compile.js";
import type { LoadOptions } from "./host.js";
import { inTime } from "./inTime.js";
import { shownAddress } from "./inlined.js";
import type { Violation } from "./policyWatch.js";

export type ReadOptions = Pick<LoadOptions, "operation" | "signal" | "onProgress">;

/** A wasm file that has been read. */
export interface ReadFile extends WasmFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d];

/** Fetches a wasm file, and reports each chunk that arrives. The engine compiles it meanwhile, if it can. */
export async function fetchWasm(url: string, options: ReadOptions): Promise<ReadFile> {
  const { signal } = options;
  throwIfAborted(signal);
  const stop = new AbortController();
  const forget = signal && onAbort(signal, (reason) => stop.abort(reason));
  try {
    const response = await fetched(url, stop.signal, options);
    const { copy, compiling } = compileOnArrival(response);
    const bytes = await body(url, copy, options);
    checkWasm(url, bytes, statusOf(response), options);
    return { bytes, compiling };
  } catch (error) {
    throwIfAborted(signal);
    stop.abort(error);
    throw error;
  } finally {
    forget?.();
  }
}

const SLOW = "Check the network; or fetch the file yourself and give it as `wasm: { binary }`.";

async function fetched(url: string, signal: AbortSignal, { operation }: ReadOptions): Promise<Response> {
  let response: Response;
  try {
    const answered = fetch(url, { credentials: "same-origin", signal });
    response = await inTime(operation, answered, `${shownAddress(url)} was not answered`, SLOW);
  } catch (cause) {
    if (AssetError.is(cause)) throw cause;
    throw new AssetError(`${operation}: ${shownAddress(url)} could not be fetched: ${thrownText(cause)}`, {
      cause,
      hint: "Check the address, the network, and the page's connect-src policy; or give `wasm.binary`.",
    });
  }
  if (response.ok) return response;
  const { text, hint } = await answerOf(url, response);
  throw new AssetError(`${operation}: ${shownAddress(url)} was not found: ${text}`, { hint });
}

async function body(
  url: string,
  response: Response,
  { operation, onProgress }: ReadOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  let loaded = 0;
  const arriving = async <T>(coming: Promise<T>): Promise<T> => {
    const late = `no more of ${shownAddress(url)} arrived after ${loaded} bytes`;
    try {
      return await inTime(operation, coming, late, SLOW);
    } catch (cause) {
      if (AssetError.is(cause)) throw cause;
      throw new AssetError(`${operation}: ${late}: ${thrownText(cause)}`, { cause, hint: SLOW });
    }
  };
  if (!response.body) return new Uint8Array(await arriving(response.arrayBuffer()));
  // For a compressed response, content-length is not the number of bytes that arrive here. Another origin shows the length,
  // but not whether it is compressed.
  const mayBeCompressed = response.headers.has("content-encoding") || response.type === "cors";
  const total = mayBeCompressed ? 0 : Number(response.headers.get("content-length") ?? 0);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await arriving(reader.read());
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    pieces.push(value);
    loaded += value.byteLength;
    onProgress?.({ phase: "download", loaded, total });
  }
}

/**
 * Throws if the bytes are not WebAssembly. A common reason: the server of a single-page app answers every address with
 * its page.
 */
export function checkWasm(url: string, bytes: Uint8Array, answered: string, { operation }: ReadOptions): void {
  if (MAGIC.every((byte, n) => bytes[n] === byte)) return;
  throw new AssetError(`${operation}: ${shownAddress(url)} is not WebAssembly: ${answered}, ${firstBytes(bytes)}`, {
    code: "ASSET_INVALID",
    hint: assetHint(url),
  });
}

/**
 * Finds out why a script could not be imported, because the import itself does not say.
 *
 * @param violation - How the page's policy forbids it. It is asked last, because the browser says so later.
 */
export async function importFailure(
  operation: string,
  url: string,
  cause: unknown,
  violation: () => Violation | undefined,
  signal?: AbortSignal,
): Promise<AssetError> {
  if (AssetError.is(cause)) return cause;
  const base = `${operation}: ${shownAddress(url)} could not be loaded`;
  const reason = thrownText(cause);
  let response: Response | undefined;
  try {
    response = await beforeAbort(inTime(operation, fetch(url), "it was not answered", SLOW), signal);
  } catch {
    throwIfAborted(signal);
  }
  const forbids = violation();
  if (forbids) return forbidden(base, cause, forbids);
  if (!response) return new AssetError(`${base}: ${reason}`, { cause, hint: assetHint(url) });
  const { ok, text, hint } = await answerOf(url, response);
  const code = ok ? "ASSET_INVALID" : "ASSET_NOT_FOUND";
  return new AssetError(`${base}: ${text}; ${reason}`, { code, cause, hint });
}

/** The page's content security policy forbids the script. */
function forbidden(base: string, cause: unknown, { directive, source }: Violation): AssetError {
  const isCopy = source === "blob:"; // the loader's, if it comes from another origin than the page
  const what = isCopy ? "the copy of it from which threads start" : "it";
  return new AssetError(`${base}: the page's content security policy forbids ${what} (${directive})`, {
    code: "ASSET_BLOCKED",
    cause,
    hint: `Allow it with ${directive} ${source}${isCopy ? "; or set `threads: 1`, which needs no copy" : ""}.`,
  });
}
