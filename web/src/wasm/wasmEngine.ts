import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { PlacedOutput, PlacedResult } from "../attention/attentionResult.js";
import type { BackwardProblem, PlacedGradients } from "../attention/backwardProblem.js";
import type { MergeProblem, PlacedMerge } from "../attention/mergeProblem.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { Eventually } from "../call/context.js";
import type { Engine } from "../engine/engine.js";
import type { EngineTensor } from "../engine/engineTensor.js";
import { NO_CALIBRATION, type LiveReport } from "../engine/report.js";
import { DisposedError } from "../errors/errors.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { LinearBackwardProblem, LinearProblem, PlacedLinearGradients } from "../linear/linearProblem.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { Dtype, TensorData } from "../tensor/tensor.js";
import { runAttention } from "./attention.js";
import { runBackward } from "./backward.js";
import { createCache, loadCache } from "./cache.js";
import type { WasmCore } from "./core.js";
import { usesLatePart } from "./latePart.js";
import { createLayer } from "./layer.js";
import { runLinear, runLinearBackward } from "./linear.js";
import { runMerge } from "./merge.js";
import { runRotary } from "./rotary.js";

/** The engine that computes with WebAssembly. Each operation has a file of its own. */
export class WasmEngine implements Engine {
  readonly places = ["wasm"] as const;
  readonly #core: WasmCore;

  constructor(core: WasmCore) {
    this.#core = core;
  }

  get live(): LiveReport {
    return { calibration: NO_CALIBRATION, webgpuReason: undefined, productBlock: this.#core.productBlock };
  }

  attention(problem: AttentionProblem): Eventually<PlacedResult> {
    const work = () => runAttention(this.#core, problem);
    return usesLatePart(problem) ? this.#core.withLatePart(problem.operation, work) : work();
  }

  attentionBackward(problem: BackwardProblem): Eventually<PlacedGradients> {
    return this.#core.withLatePart(problem.operation, () => runBackward(this.#core, problem));
  }

  merge(problem: MergeProblem): Eventually<PlacedMerge> {
    return this.#core.withLatePart(problem.operation, () => runMerge(this.#core, problem));
  }

  rotary(problem: RotaryProblem): Eventually<PlacedOutput> {
    return runRotary(this.#core, problem);
  }

  linear(problem: LinearProblem): Eventually<PlacedOutput> {
    return this.#core.withLatePart(problem.operation, () => runLinear(this.#core, problem));
  }

  linearBackward(problem: LinearBackwardProblem): Eventually<PlacedLinearGradients> {
    return this.#core.withLatePart(problem.operation, () => runLinearBackward(this.#core, problem));
  }

  createCache(problem: CacheProblem): Eventually<EngineCache> {
    return createCache(this.#core, problem);
  }

  loadCache(operation: string, bytes: Uint8Array): Eventually<EngineCache> {
    return this.#core.withLatePart(operation, () => loadCache(this.#core, operation, bytes));
  }

  createLayer(problem: LayerProblem): Eventually<EngineLayer> {
    return createLayer(this.#core, problem);
  }

  locate(operation: string, argument: string, given: object, view: TensorData): number | undefined {
    return this.#core.heap.locate(operation, argument, given, view);
  }

  allocate<D extends Dtype>(
    operation: string,
    shape: readonly number[],
    dtype: D,
    later: (release: () => void) => void,
  ): EngineTensor<D> {
    return this.#core.heap.allocateTensor(operation, shape, dtype, later);
  }

  dispose(): void {
    this.#core.end((operation) => new DisposedError(`${operation}: the instance was disposed while the call ran`));
  }
}
