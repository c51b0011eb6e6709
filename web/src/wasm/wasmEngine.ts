import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { PlacedOutput, PlacedResult } from "../attention/attentionResult.js";
import type { BackwardProblem, PlacedGradients } from "../attention/backwardProblem.js";
import type { MergeProblem, PlacedMerge } from "../attention/mergeProblem.js";
import { DisposedError } from "../base/errors.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { Engine } from "../engine/engine.js";
import type { EngineTensor, NewTensor } from "../engine/engineTensor.js";
import { NO_CALIBRATION, type LiveReport } from "../engine/report.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { LinearBackwardProblem, LinearProblem, PlacedLinearGradients } from "../linear/linearProblem.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { EngineStep, StepProblem } from "../step/stepProblem.js";
import type { Dtype, TensorData } from "../tensor/tensor.js";
import type { Eventually } from "../turn/context.js";
import type { Part } from "../turn/late.js";
import { runAttention } from "./attention.js";
import type { WasmCore } from "./core.js";
import { usesLatePart } from "./latePart.js";
import type * as makers from "./makers.js";
import type * as runners from "./runners.js";

/** The code of this engine that a plain call does not need. */
export interface WasmParts {
  readonly layers: Part<typeof makers>;
  readonly operations: Part<typeof runners>;
}

/**
 * The engine that computes with WebAssembly. Each operation has a file of its own. What plain attention does not need may
 * have to be loaded first.
 */
export class WasmEngine implements Engine {
  readonly places = ["wasm"] as const;
  readonly #core: WasmCore;
  readonly #parts: WasmParts;

  constructor(core: WasmCore, parts: WasmParts) {
    this.#core = core;
    this.#parts = parts;
  }

  get live(): LiveReport {
    return { calibration: NO_CALIBRATION, webgpuReason: undefined, productBlock: this.#core.productBlock };
  }

  drop(): boolean {
    return this.#core.drop();
  }

  expectLatePart(operation: string): void {
    this.#core.expectLatePart(operation);
  }

  attention(problem: AttentionProblem): Eventually<PlacedResult> {
    const work = () => runAttention(this.#core, problem);
    return usesLatePart(problem, problem.key.dtype, problem.value?.dtype)
      ? this.#core.withLatePart(problem.operation, work)
      : work();
  }

  attentionBackward(problem: BackwardProblem): Eventually<PlacedGradients> {
    return this.#runLate(this.#parts.operations, problem.operation, (code) => code.runBackward(this.#core, problem));
  }

  merge(problem: MergeProblem): Eventually<PlacedMerge> {
    return this.#runLate(this.#parts.operations, problem.operation, (code) => code.runMerge(this.#core, problem));
  }

  rotary(problem: RotaryProblem): Eventually<PlacedOutput> {
    return this.#run(this.#parts.operations, problem.operation, (code) => code.runRotary(this.#core, problem));
  }

  linear(problem: LinearProblem): Eventually<PlacedOutput> {
    return this.#runLate(this.#parts.operations, problem.operation, (code) => code.runLinear(this.#core, problem));
  }

  linearBackward(problem: LinearBackwardProblem): Eventually<PlacedLinearGradients> {
    return this.#runLate(this.#parts.operations, problem.operation, (code) =>
      code.runLinearBackward(this.#core, problem),
    );
  }

  createCache(problem: CacheProblem): Eventually<EngineCache> {
    return this.#run(this.#parts.layers, problem.operation, (code) => code.createCache(this.#core, problem));
  }

  loadCache(operation: string, bytes: Uint8Array): Eventually<EngineCache> {
    return this.#runLate(this.#parts.layers, operation, (code) => code.loadCache(this.#core, operation, bytes));
  }

  createLayer(problem: LayerProblem): Eventually<EngineLayer> {
    return this.#run(this.#parts.layers, problem.operation, (code) => code.createLayer(this.#core, problem));
  }

  createStep(problem: StepProblem): Eventually<EngineStep> {
    return this.#runLate(this.#parts.layers, problem.operation, (code) => code.createStep(this.#core, problem));
  }

  locate(operation: string, argument: string, given: object, view: TensorData): number | undefined {
    return this.#core.heap.locate(operation, argument, given, view);
  }

  allocate<D extends Dtype>(
    operation: string,
    wanted: NewTensor<D>,
    later: (release: () => void) => void,
  ): EngineTensor<D> {
    return this.#core.heap.allocateTensor(operation, wanted, later);
  }

  /** Runs an operation: at once if its code is here. */
  #run<Code, T>(part: Part<Code>, operation: string, work: (code: Code) => Eventually<T>): Eventually<T> {
    const { loaded } = part;
    return loaded ? work(loaded) : this.#core.after(part.load(operation), operation, work);
  }

  /** The same for an operation that computes with the late part of the module. */
  #runLate<Code, T>(part: Part<Code>, operation: string, work: (code: Code) => Eventually<T>): Eventually<T> {
    return this.#run(part, operation, (code) => this.#core.withLatePart(operation, () => work(code)));
  }

  dispose(): void {
    this.#core.end((operation) => new DisposedError(`${operation}: the instance was disposed while the call ran`));
  }
}
