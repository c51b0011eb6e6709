import { AssetError } from "../errors.js";
import { assetHint } from "./assetErrors.js";
import type { LoadOptions } from "./host.js";
import { inTime } from "./inTime.js";

export type ReadOptions = Pick<LoadOptions, "signal" | "onProgress">;

const MAGIC = [0x00, 0x61, 0x73, 0x6d];

/** Fetches a wasm file, telling of every piece that arrives. */
export async function fetchWasm(url: string, { signal, onProgress }: ReadOptions): Promise<Uint8Array<ArrayBuffer>> {
  const stop = new AbortController();
  const abort = () => stop.abort(signal!.reason);
  signal?.addEventListener("abort", abort);
  try {
    const response = await fetched(url, stop.signal);
    const bytes = await body(url, response, onProgress);
    checkWasm(url, bytes, answer(response));
    return bytes;
  } catch (error) {
    signal?.throwIfAborted();
    stop.abort(error);
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

const SLOW = "Check the network; or fetch the file yourself and give it as `wasm: { binary }`.";

async function fetched(url: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await inTime(fetch(url, { credentials: "same-origin", signal }), `${url} was not answered`, SLOW);
  } catch (cause) {
    if (AssetError.is(cause)) throw cause;
    throw new AssetError(`createAttention: ${url} could not be fetched: ${String(cause)}`, {
      cause,
      hint: "Check the address, the network, and the page's connect-src policy; or give `wasm.binary`.",
    });
  }
  if (response.ok) return response;
  throw new AssetError(`createAttention: ${url} was not found: ${answer(response)}`, { hint: assetHint(url) });
}

async function body(
  url: string,
  response: Response,
  onProgress: ReadOptions["onProgress"],
): Promise<Uint8Array<ArrayBuffer>> {
  if (!response.body) return new Uint8Array(await response.arrayBuffer());
  // The length of a compressed response is not that of the bytes that arrive here.
  const encoded = response.headers.get("content-encoding");
  const total = encoded ? 0 : Number(response.headers.get("content-length") ?? 0);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let loaded = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await inTime(reader.read(), `no more of ${url} arrived after ${loaded} bytes`, SLOW);
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    pieces.push(value);
    loaded += value.byteLength;
    onProgress?.({ phase: "download", loaded, total });
  }
}

/** Status and content type, for messages. */
function answer(response: Response): string {
  return `HTTP ${response.status}, content type ${response.headers.get("content-type") ?? "not stated"}`;
}

/** A page instead of the file is the usual surprise: single-page servers answer every address with one. */
export function checkWasm(url: string, bytes: Uint8Array, answered: string): void {
  if (MAGIC.every((byte, n) => bytes[n] === byte)) return;
  const first = [...bytes.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  throw new AssetError(`createAttention: ${url} is not WebAssembly: ${answered}, first bytes ${first || "none"}`, {
    code: "ASSET_INVALID",
    hint: assetHint(url),
  });
}

/** Why the glue could not be imported: the import itself does not say. */
export async function importFailure(
  url: string,
  cause: unknown,
  signal: AbortSignal | undefined,
  operation = "createAttention",
): Promise<AssetError> {
  if (AssetError.is(cause)) return cause;
  const base = `${operation}: ${url} could not be loaded`;
  let response: Response;
  try {
    response = await fetch(url, signal ? { signal } : {});
  } catch {
    return new AssetError(`${base}: ${String(cause)}`, { cause, hint: assetHint(url) });
  }
  const code = response.ok ? "ASSET_INVALID" : "ASSET_NOT_FOUND";
  return new AssetError(`${base}: ${answer(response)}; ${String(cause)}`, { code, cause, hint: assetHint(url) });
}
