import type { CacheForm } from "../cache/cacheProblem.js";
import type { KernelTime, LiveReport, Report } from "../engine/report.js";
import type { CheckedOptions } from "../instance/createOptions.js";
import type { CompiledFile } from "../load/compiledFiles.js";
import type { EngineFiles } from "../load/engineFiles.js";
import type { LoadProgress } from "../load/host.js";
import type { Place } from "../tensor/place.js";
import type { ErrorParts } from "./errorParts.js";

/** The number of the engine. The objects that it makes (caches, layers, saved calls) have the numbers from 1. */
export const ENGINE = 0;

/** The methods that a request can call, with their names in `Engine`, `EngineCache`, `EngineLayer` and `EngineSaved`. */
export type Method =
  | "attention"
  | "attentionBackward"
  | "linear"
  | "linearBackward"
  | "merge"
  | "rotary"
  | "createCache"
  | "loadCache"
  | "createLayer"
  | "createStep"
  | "run"
  | "append"
  | "attend"
  | "step"
  | "rewind"
  | "select"
  | "keep"
  | "fork"
  | "slice"
  | "save"
  | "forward"
  | "backward"
  | "update"
  | "release";

/** The options of createAttention that are sent to the worker. The signal and the progress listener cannot be sent. */
export interface EngineOptions extends Omit<CheckedOptions, "signal" | "onProgress" | "device" | "gpu"> {
  /** The page sends the addresses, because a bundler may have put the worker's script into another folder. */
  readonly files: EngineFiles;
}

/** The engine's files that one side has compiled. The page sends them before it opens an engine, the worker afterwards. */
export interface CompiledFiles {
  readonly kind: "compiled";
  readonly files: readonly CompiledFile[];
}

/** From the client to the worker. The worker answers each request with a number once, in order. */
export type Request =
  | CompiledFiles
  | {
      readonly kind: "open";
      readonly id: number;
      /** The public function that needs the engine. */
      readonly operation: string;
      readonly options: EngineOptions;
      readonly progress: boolean;
    }
  | {
      readonly kind: "call";
      readonly id: number;
      /** The public function that the call is of. */
      readonly operation: string;
      readonly target: number;
      readonly method: Method;
      readonly args: readonly unknown[];
    };

/** What a client sees of an object in the worker. */
export interface ObjectState {
  readonly form?: CacheForm;
  readonly appended?: readonly number[];
  readonly bytes: number;
  /** Of a cache or a layer. */
  readonly placement?: Place;
}

/** The state of an object that a call has made or may have changed. */
export interface ObjectNews {
  readonly object: number;
  readonly state: ObjectState;
}

/** While a worker opens an engine, it says so in this interval. */
export const SIGN_MILLISECONDS = 1000;

/** From the worker to the client. */
export type Reply =
  /** The worker runs. It holds the lock of this name as long as it lives, if there are locks. */
  | { readonly kind: "ready"; readonly version: string; readonly lock: string | undefined }
  | { readonly kind: "progress"; readonly progress: LoadProgress }
  /** The worker still opens the engine. */
  | { readonly kind: "opening" }
  | CompiledFiles
  | {
      readonly kind: "opened";
      readonly id: number;
      readonly report: Report;
      readonly live?: LiveReport | undefined;
      /** As the engine says it. */
      readonly hasGpu?: boolean | undefined;
    }
  /** The changing part of the report has changed. */
  | { readonly kind: "report"; readonly live: LiveReport }
  | {
      readonly kind: "done";
      readonly id: number;
      readonly result: unknown;
      /** The number of the object that the call made. */
      readonly made: number | undefined;
      readonly news: readonly ObjectNews[];
      readonly kernelTimes: readonly KernelTime[] | undefined;
      /** The changing part of the report, if calls change it. */
      readonly live?: LiveReport | undefined;
    }
  | { readonly kind: "failed"; readonly id: number; readonly error: ErrorParts; readonly news: readonly ObjectNews[] };
