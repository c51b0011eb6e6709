import type { AttentionProblem } from "../attentionProblem.js";
import type { AttentionResult, Backend, Eventually } from "../backend.js";
import { DisposedError } from "../errors.js";
import type { MergeProblem, MergeResult } from "../merge.js";
import type { Dtype } from "../tensor.js";
import { runAttention } from "./attention.js";
import type { WasmEngine } from "./engine.js";
import type { EngineTensor } from "./heap.js";
import { runMerge } from "./merge.js";

/** The wasm engine as a backend: each operation has its file. */
export class WasmBackend implements Backend {
  readonly #engine: WasmEngine;

  constructor(engine: WasmEngine) {
    this.#engine = engine;
  }

  attention(problem: AttentionProblem): Eventually<AttentionResult> {
    return runAttention(this.#engine, problem);
  }

  merge(problem: MergeProblem): Eventually<MergeResult> {
    return runMerge(this.#engine, problem);
  }

  allocate<D extends Dtype>(operation: string, shape: readonly number[], dtype: D): EngineTensor<D> {
    return this.#engine.heap.allocateTensor(operation, shape, dtype);
  }

  dispose(): void {
    this.#engine.end(new DisposedError("the instance was disposed while the call ran"));
  }
}
