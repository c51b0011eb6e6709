import type { AttentionProblem } from "../attentionProblem.js";
import type { AttentionResult, Backend, BackendCache, BackendLayer, Eventually, FloatResult } from "../backend.js";
import type { CacheProblem } from "../cache.js";
import { DisposedError } from "../errors.js";
import type { LayerProblem } from "../layerProblem.js";
import type { MergeProblem, MergeResult } from "../merge.js";
import type { RotaryProblem } from "../rotary.js";
import type { Dtype } from "../tensor.js";
import { runAttention } from "./attention.js";
import type { WasmEngine } from "./engine.js";
import type { EngineTensor } from "./heap.js";
import type * as operations from "./operations.js";

export type WasmOperations = typeof operations;

/** The wasm engine as a backend: each operation has its file. */
export class WasmBackend implements Backend {
  readonly #engine: WasmEngine;
  readonly #operations: () => WasmOperations;

  /** @param operations - Those that are loaded when they are first wanted; whoever calls one has seen to that. */
  constructor(engine: WasmEngine, operations: () => WasmOperations) {
    this.#engine = engine;
    this.#operations = operations;
  }

  attention(problem: AttentionProblem): Eventually<AttentionResult> {
    return runAttention(this.#engine, problem);
  }

  merge(problem: MergeProblem): Eventually<MergeResult> {
    return this.#operations().runMerge(this.#engine, problem);
  }

  rotary(problem: RotaryProblem): Eventually<FloatResult> {
    return this.#operations().runRotary(this.#engine, problem);
  }

  createCache(problem: CacheProblem): Eventually<BackendCache> {
    return this.#operations().createCache(this.#engine, problem);
  }

  loadCache(operation: string, bytes: Uint8Array): Eventually<BackendCache> {
    return this.#operations().loadCache(this.#engine, operation, bytes);
  }

  createLayer(problem: LayerProblem): Eventually<BackendLayer> {
    return this.#operations().createLayer(this.#engine, problem);
  }

  allocate<D extends Dtype>(operation: string, shape: readonly number[], dtype: D): EngineTensor<D> {
    return this.#engine.heap.allocateTensor(operation, shape, dtype);
  }

  dispose(): void {
    this.#engine.end((operation) => new DisposedError(`${operation}: the instance was disposed while the call ran`));
  }
}
