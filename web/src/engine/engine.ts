import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionResult, FloatResult, RecordedAttention } from "../attention/attentionResult.js";
import type { MergeProblem, MergeResult } from "../attention/mergeProblem.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { Eventually } from "../call/context.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { Dtype, TensorData } from "../tensor/tensor.js";
import type { EngineTensor } from "./engineTensor.js";
import type { KernelTime, Report } from "./report.js";

/** One engine: computes problems that passed every check, one at a time. */
export interface Engine {
  /** Whether a call that runs may be given up: its caller goes on, the engine finishes it for itself. */
  readonly abandons?: boolean;
  /**
   * Called when a call is made. The function it returns is called when the call's turn comes, and throws if the engine
   * has been lost in between.
   */
  admit?(operation: string): () => void;
  /** The instance that uses the engine, for results that need it as long as they are in use. */
  instance?: WeakRef<object> | undefined;
  /** Whether tensors may lie on the GPU, for engines that have one. */
  readonly onGpu?: boolean;
  /** Of the latest call, where kernels are timed. */
  readonly kernelTimes?: readonly KernelTime[];
  /** Records a call into a GPUCommandEncoder. */
  encode?(encoder: object, problem: AttentionProblem): Promise<RecordedAttention>;
  attention(problem: AttentionProblem): Eventually<AttentionResult>;
  merge(problem: MergeProblem): Eventually<MergeResult>;
  rotary(problem: RotaryProblem): Eventually<FloatResult>;
  createCache(problem: CacheProblem): Eventually<EngineCache>;
  loadCache(operation: string, bytes: Uint8Array): Eventually<EngineCache>;
  createLayer(problem: LayerProblem): Eventually<EngineLayer>;
  /**
   * The address of an array of the caller's that lies in a tensor made by `allocate`; undefined for any other. `view` is
   * the same memory.
   *
   * @throws DisposedError if the tensor was disposed.
   */
  locate?(operation: string, argument: string, given: object, view: TensorData): number | undefined;
  /** @param later - Runs what gives the memory back, once calls that may use it have run. */
  allocate<D extends Dtype>(
    operation: string,
    shape: readonly number[],
    dtype: D,
    later: (release: () => void) => void,
  ): EngineTensor<D>;
  /** Ends the engine. A call in flight rejects with DisposedError. */
  dispose(): void;
}

/** An engine that is ready, and how it came to be this one. */
export interface Opened {
  readonly engine: Engine;
  readonly report: Report;
}
