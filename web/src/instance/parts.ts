import type { Part } from "../call/late.js";
import type * as runners from "../wasm/runners.js";
import type * as auto from "./parts/auto.js";
import type * as operations from "./parts/operations.js";
import type * as plans from "./parts/plans.js";
import type { Placing } from "./placing.js";

/** What WebAssembly runs for calls other than attention. */
export type Runners = typeof runners;

/** What an instance reads for those calls, and what it makes for the user. */
export type Readers = Omit<typeof operations, keyof Runners | keyof Placing>;

/** The code of an instance that a plain call does not need. */
export interface InstanceParts {
  readonly operations: Part<Readers>;
  readonly plans: Part<typeof plans>;
}

/** The code of engines that a plain call does not need. */
export interface EngineParts {
  readonly operations: Part<Runners & Placing>;
  readonly auto: Part<typeof auto>;
}

/** All code that a plain call does not need. */
export interface Parts {
  readonly operations: Part<Readers & Runners & Placing>;
  readonly auto: Part<typeof auto>;
  readonly plans: Part<typeof plans>;
}
