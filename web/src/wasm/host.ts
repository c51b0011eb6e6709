import type { Variant } from "./variants.js";

/** How many bytes of the engine's file have arrived; `total` is 0 when the server does not say. */
export interface LoadProgress {
  readonly phase: "download";
  readonly loaded: number;
  readonly total: number;
}

export interface ReadOptions {
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: LoadProgress) => void) | undefined;
}

/** What differs between Node and a browser for the engine's loader. */
export interface Host {
  /** The package's own files. */
  assets(variant: Variant): { readonly glueUrl: string; readonly wasmUrl: string };
  /** The most threads that can run here, and why not more; and how many are a good choice. */
  threads(): { readonly most: number; readonly good: number; readonly reason?: string };
  read(url: string, options: ReadOptions): Promise<Uint8Array<ArrayBuffer>>;
}
