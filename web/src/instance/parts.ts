import type { formulaReading } from "../attention/formulaReading.js";
import type * as placed from "../auto/placing.js";
import type { Part } from "../turn/late.js";
import type { WasmParts } from "../wasm/wasmEngine.js";
import type * as auto from "./parts/auto.js";
import type * as holders from "./parts/holders.js";
import type * as layers from "./parts/layers.js";
import type * as operations from "./parts/operations.js";
import type * as plans from "./parts/plans.js";
import type * as steps from "./parts/steps.js";
import type * as readers from "./parts/readers.js";

/** The code of an instance that a plain call does not need. */
export interface InstanceParts {
  /** Once it is here, calls can have formulas. `plans` and `steps` bring it along. */
  readonly formulas: Part<object>;
  readonly layers: Part<typeof holders>;
  readonly operations: Part<typeof readers>;
  readonly plans: Part<typeof plans>;
  readonly steps: Part<typeof steps>;
}

/** The code of engines that a plain call does not need. */
export interface EngineParts extends WasmParts {
  readonly auto: Part<typeof auto>;
  /** Layers and caches of `auto`. */
  readonly placed: Part<typeof placed>;
}

/** The file `auto-engine.js`: what `backend: "auto"` needs in a page's worker. */
export type AutoModule = typeof auto &
  typeof placed & {
    readonly version: string;
    /** The caller fills it with the code that it has. */
    readonly formulaReading: typeof formulaReading;
  };

/** All code that a plain call does not need. */
export interface Parts extends EngineParts, InstanceParts {
  readonly layers: Part<typeof layers>;
  readonly operations: Part<typeof operations>;
}
