import type { AttentionProblem } from "../attentionProblem.js";
import type { AttentionResult, Backend, BackendCache, BackendLayer, Eventually, FloatResult } from "../backend.js";
import type { CacheProblem } from "../cache.js";
import { DisposedError } from "../errors.js";
import type { LayerProblem } from "../layerProblem.js";
import type { MergeProblem, MergeResult } from "../merge.js";
import type { RotaryProblem } from "../rotary.js";
import type { Dtype, TensorData } from "../tensor.js";
import { runAttention } from "./attention.js";
import type { WasmEngine } from "./engine.js";
import type { EngineTensor } from "./heap.js";
import { createCache, loadCache } from "./cache.js";
import { createLayer } from "./layer.js";
import { runMerge } from "./merge.js";
import { runRotary } from "./rotary.js";

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

  rotary(problem: RotaryProblem): Eventually<FloatResult> {
    return runRotary(this.#engine, problem);
  }

  createCache(problem: CacheProblem): Eventually<BackendCache> {
    return createCache(this.#engine, problem);
  }

  loadCache(operation: string, bytes: Uint8Array): Eventually<BackendCache> {
    return loadCache(this.#engine, operation, bytes);
  }

  createLayer(problem: LayerProblem): Eventually<BackendLayer> {
    return createLayer(this.#engine, problem);
  }

  locate(operation: string, argument: string, given: object, view: TensorData): number | undefined {
    return this.#engine.heap.locate(operation, argument, given, view);
  }

  allocate<D extends Dtype>(
    operation: string,
    shape: readonly number[],
    dtype: D,
    later: (release: () => void) => void,
  ): EngineTensor<D> {
    return this.#engine.heap.allocateTensor(operation, shape, dtype, later);
  }

  dispose(): void {
    this.#engine.end((operation) => new DisposedError(`${operation}: the instance was disposed while the call ran`));
  }
}
