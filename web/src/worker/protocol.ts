import type { CacheForm } from "../cache/cacheProblem.js";
import type { KernelTime, Report } from "../engine/report.js";
import type { CheckedOptions } from "../instance/createOptions.js";
import type { EngineFiles } from "../wasm/engineFiles.js";
import type { LoadProgress } from "../wasm/host.js";
import type { ErrorParts } from "./errorParts.js";

/** The engine itself; objects made by it (caches, layers) are counted from 1. */
export const ENGINE = 0;

/** What the engine and its objects do, by the names of `Engine`, `EngineCache` and `EngineLayer`. */
export type Method =
  | "attention"
  | "merge"
  | "rotary"
  | "createCache"
  | "loadCache"
  | "createLayer"
  | "append"
  | "attend"
  | "rewind"
  | "fork"
  | "slice"
  | "save"
  | "forward"
  | "release";

/** The options of createAttention that the worker sees: the signal and the listener stay where they are. */
export interface EngineOptions extends Omit<CheckedOptions, "signal" | "onProgress" | "device" | "gpu"> {
  /** A bundler may have put the worker's script where it does not find them. */
  readonly files: EngineFiles;
}

/** From the client. Each is answered once, in order. */
export type Request =
  | {
      readonly kind: "open";
      readonly id: number;
      /** The public function that wants the engine. */
      readonly operation: string;
      readonly options: EngineOptions;
      readonly progress: boolean;
    }
  | {
      readonly kind: "call";
      readonly id: number;
      readonly target: number;
      readonly method: Method;
      readonly args: readonly unknown[];
    };

/** What a client sees of an object in the worker. */
export interface ObjectState {
  readonly form?: CacheForm;
  readonly appended?: readonly number[];
  readonly bytes: number;
}

/** An object that a call has made or may have changed. */
export interface ObjectNews {
  readonly object: number;
  readonly state: ObjectState;
}

/** From the worker. */
export type Reply =
  /** It runs. While it does it holds the lock of that name, where there are locks. */
  | { readonly kind: "ready"; readonly version: string; readonly lock: string | undefined }
  | { readonly kind: "progress"; readonly progress: LoadProgress }
  | { readonly kind: "opened"; readonly id: number; readonly report: Report }
  | {
      readonly kind: "done";
      readonly id: number;
      readonly result: unknown;
      /** The object that the call made. */
      readonly made: number | undefined;
      readonly news: readonly ObjectNews[];
      readonly kernelTimes: readonly KernelTime[] | undefined;
    }
  | { readonly kind: "failed"; readonly id: number; readonly error: ErrorParts; readonly news: readonly ObjectNews[] };
