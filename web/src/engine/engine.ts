import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { PlacedOutput, PlacedResult } from "../attention/attentionResult.js";
import type { BackwardProblem, PlacedGradients } from "../attention/backwardProblem.js";
import type { MergeProblem, PlacedMerge } from "../attention/mergeProblem.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type {
  LinearBackwardProblem,
  LinearProblem,
  PlacedLinearGradients,
  UploadWeightProblem,
} from "../linear/linearProblem.js";
import type { EngineWeight } from "../linear/uploadedWeight.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { EngineStep, StepProblem } from "../step/stepProblem.js";
import type { GpuResult } from "../tensor/gpuTensor.js";
import type { Place, PlaceChoice } from "../tensor/place.js";
import type { BufferTensor, CheckedTensor, Dtype, TensorData, TypedTensor } from "../tensor/tensor.js";
import type { Eventually, Recorded } from "../turn/context.js";
import type { EngineTensor, NewTensor } from "./engineTensor.js";
import type { KernelTime, LiveReport, Report } from "./report.js";

/** What an engine may ask of its instance. */
export interface Owner {
  /** Runs `work` when the calls that were made so far have run: at once if none is pending. */
  afterCalls(work: () => void): void;
}

/**
 * An engine computes checked problems, one at a time. WasmEngine, WebgpuEngine, WorkerEngine and AutoEngine implement
 * this interface.
 */
export interface Engine {
  /**
   * true if an aborted call may reject while the engine still computes it. The queue then waits until the engine is
   * done.
   */
  readonly abandons?: boolean;
  /** Drops the running call, which then rejects, if it still waits for code of the engine. Returns whether it does. */
  drop?(): boolean;
  /** Begins to load code that a later call will need, if the engine has such code. No call waits for it. */
  expectLatePart?(operation: string): void;
  /**
   * The instance calls this when a call is made. It calls the returned function when it is the call's turn; that
   * function throws if the engine was lost in between.
   */
  admit?(operation: string): () => void;
  /** The instance that uses the engine. Results on the GPU keep their instance alive through it. */
  instance?: WeakRef<Owner> | undefined;
  /** Runs work between two calls of the instance, which sets this. Rejects if the instance was disposed or collected. */
  inTurn?: (<T>(work: () => Eventually<T>) => Promise<T>) | undefined;
  /** Where layers and caches may lie. */
  readonly places: readonly Place[];
  /** The part of the report that changes, if any does. */
  readonly live?: LiveReport | undefined;
  /** true if a call's tensors may lie on the GPU. */
  readonly onGpu?: boolean;
  /** Whether there is a GPU to open. Default: whether `places` has "webgpu". */
  readonly hasGpu?: boolean | undefined;
  /** GPU times of the latest call's kernels, if kernels are timed. */
  readonly kernelTimes?: readonly KernelTime[];
  /** Compiles what a call needs, so that `record` records it at once. An engine without it compiles nothing. */
  prepare?(problem: AttentionProblem): Eventually<void>;
  /** Records a call into a GPUCommandEncoder; only engines with a GPU can. */
  record?(encoder: object, problem: AttentionProblem): Recorded<PlacedResult>;
  /** Waits until the GPU has computed everything. Throws the error of a call that nobody has seen. */
  finish?(operation: string): Eventually<void>;
  /** The GPUDevice of an engine with a GPU, once it is open. */
  readonly device?: object | undefined;
  /** Copies a tensor to the GPU; only engines with a GPU can. */
  upload?<D extends Dtype>(operation: string, tensor: CheckedTensor<D>): Promise<GpuResult<D>>;
  /** Copies a weight to the GPU, in the order in which the kernels read it. Only engines with a GPU have it. */
  uploadWeight?(problem: UploadWeightProblem): Promise<EngineWeight>;
  /** Copies a tensor on the GPU to JavaScript. */
  download?<D extends Dtype>(operation: string, tensor: BufferTensor<D>): Promise<TypedTensor<D>>;
  attention(problem: AttentionProblem): Eventually<PlacedResult>;
  merge(problem: MergeProblem): Eventually<PlacedMerge>;
  rotary(problem: RotaryProblem): Eventually<PlacedOutput>;
  attentionBackward(problem: BackwardProblem): Eventually<PlacedGradients>;
  linear(problem: LinearProblem): Eventually<PlacedOutput>;
  linearBackward(problem: LinearBackwardProblem): Eventually<PlacedLinearGradients>;
  createCache(problem: CacheProblem): Eventually<EngineCache>;
  /**
   * @param placement - Where the cache shall lie. Default `"auto"`.
   * @param signal - Of an engine that abandons calls: whether the caller still waits for the cache.
   */
  loadCache(
    operation: string,
    bytes: Uint8Array,
    placement?: PlaceChoice,
    signal?: AbortSignal,
  ): Eventually<EngineCache>;
  createLayer(problem: LayerProblem): Eventually<EngineLayer>;
  /** Makes a recorded step: on wasm if the engine has it. */
  createStep(problem: StepProblem): Eventually<EngineStep>;
  /**
   * The address of a caller's array that lies in a tensor made by `allocate`, or undefined for any other array. `view`
   * is our own view of the array's memory.
   *
   * @throws DisposedError if the tensor was disposed.
   */
  locate?(operation: string, argument: string, given: object, view: TensorData): number | undefined;
  /** @param later - Takes the function that gives the memory back, and runs it after the calls made so far. */
  allocate<D extends Dtype>(
    operation: string,
    wanted: NewTensor<D>,
    later: (release: () => void) => void,
  ): EngineTensor<D>;
  /** Ends the engine. A running call rejects with DisposedError. */
  dispose(): void;
}

/** An engine that is ready, and the report on how it was chosen. */
export interface Opened {
  readonly engine: Engine;
  readonly report: Report;
}
