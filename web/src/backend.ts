import type { Returns } from "./attentionOptions.js";
import type { AttentionProblem, FloatTensor } from "./attentionProblem.js";
import type { AppendProblem, AttendProblem, CacheForm, CacheProblem } from "./cache.js";
import type { GpuFloats, GpuResult } from "./gpuData.js";
import type { ForwardProblem, LayerProblem } from "./layerProblem.js";
import type { MergeProblem, MergeResult } from "./merge.js";
import type { RotaryProblem } from "./rotary.js";
import type { Dtype, HalfArray, TensorData, TypedTensor } from "./tensor.js";
import type { EngineTensor } from "./wasm/heap.js";

/** A result at hand, or one to come. */
export type Eventually<T> = T | Promise<T>;

/** A float result in the dtype of the inputs. */
export type FloatResult = TypedTensor<"float32"> | TypedTensor<"float16">;

/**
 * The output of a call on a tensor, or into one: of its dtype, as far as TypeScript knows that. A tensor on the GPU that was
 * given as `into` is itself the output.
 */
export type OutputOf<T extends FloatTensor | GpuFloats> = [T] extends [GpuFloats]
  ? T
  : [T] extends [{ readonly data: Float32Array }]
    ? TypedTensor<"float32">
    : [T] extends [{ readonly data: Uint16Array | HalfArray }]
      ? TypedTensor<"float16">
      : FloatResult;

/** What scaledDotProductAttention gives back: what `returns` asked for. */
export interface AttentionResult {
  /** In the layout, rank and dtype of the inputs, or the tensor given as `into`. */
  readonly output: FloatResult;
  /** `[B, heads, queries, Skv]`. */
  readonly probs?: TypedTensor<"float32">;
  /** `[B, heads, queries, k]`: values descending, short rows padded with 0 and index −1. */
  readonly topK?: { readonly values: TypedTensor<"float32">; readonly indices: TypedTensor<"int32"> };
  /** `[B, numHeads, Sq]`. */
  readonly lse?: TypedTensor<"float32">;
  /** `[B, numHeads, Sq]`, in nats. */
  readonly entropy?: TypedTensor<"float32">;
  /** `[B, heads, queries, Skv]`. */
  readonly scores?: TypedTensor<"float32">;
}

/** Nothing that `returns` says: the output alone. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- no key is known, so none is asked for or refused
export type NoReturns = {};

/** The parts of `All` that `returns` surely asks for. Those that TypeScript cannot know of stay optional. */
type Parts<R extends Returns, All> = Omit<All, "output"> & {
  readonly [
    Part in keyof R & Exclude<keyof All, "output"> as [Extract<R[Part], false | undefined>] extends [never]
      ? Part
      : never
  ]-?: NonNullable<All[Part]>;
};

/** The output: absent with `output: false`, optional with a boolean. A variable of type Returns is trusted to want it. */
type OutputPart<R extends Returns, Output> = Returns extends R
  ? { readonly output: Output }
  : R extends { readonly output: infer Wanted }
    ? [Wanted] extends [false]
      ? NoReturns
      : false extends Wanted
        ? { readonly output?: Output }
        : { readonly output: Output }
    : { readonly output: Output };

/**
 * The result of a call whose `returns` is known to TypeScript: what it asks for is there. `T` is the tensor whose dtype the
 * output has: the query, or `into`.
 */
export type ResultOf<R extends Returns = NoReturns, T extends FloatTensor | GpuFloats = FloatTensor> = Parts<
  R,
  AttentionResult
> &
  OutputPart<R, OutputOf<T>>;

/** What a call with `location: "gpu"`, or one that was recorded, leaves on the GPU. */
export interface GpuAttentionResult {
  readonly output: GpuResult<"float32"> | GpuResult<"float16">;
  readonly probs?: GpuResult<"float32">;
  readonly topK?: { readonly values: GpuResult<"float32">; readonly indices: GpuResult<"int32"> };
  readonly lse?: GpuResult<"float32">;
  readonly entropy?: GpuResult<"float32">;
  readonly scores?: GpuResult<"float32">;
}

/** The same on the GPU. `T` is the tensor given as `into`; without one the output is a tensor of its own. */
export type GpuResultOf<R extends Returns = NoReturns, T extends FloatTensor | GpuFloats = FloatTensor> = Parts<
  R,
  GpuAttentionResult
> &
  OutputPart<R, [T] extends [GpuFloats] ? T : GpuAttentionResult["output"]>;

/** The result of a call with `location` L: both kinds where TypeScript cannot know it. */
export type ResultAt<L extends "cpu" | "gpu", R extends Returns, T extends FloatTensor | GpuFloats> = L extends "gpu"
  ? GpuResultOf<R, T>
  : ResultOf<R, T>;

/** GPU time of one kernel of a call. */
export interface KernelTime {
  readonly kernel: string;
  readonly milliseconds: number;
}

/** One engine: computes problems that passed every check, one at a time. */
export interface Backend {
  /** Whether a call that runs may be given up: its caller goes on, the engine finishes it for itself. */
  readonly abandons?: boolean;
  /**
   * Called when a call is made. The function it returns is called when the call's turn comes, and throws if the engine
   * has been lost in between.
   */
  admit?(operation: string): () => void;
  /** Whether tensors may lie on the GPU, for engines that have one. */
  readonly onGpu?: boolean;
  /** Of the latest call, where kernels are timed. */
  readonly kernelTimes?: readonly KernelTime[];
  /** Records a call into a GPUCommandEncoder. */
  encode?(encoder: object, problem: AttentionProblem): Promise<GpuAttentionResult>;
  attention(problem: AttentionProblem): Eventually<AttentionResult>;
  merge(problem: MergeProblem): Eventually<MergeResult>;
  rotary(problem: RotaryProblem): Eventually<FloatResult>;
  createCache(problem: CacheProblem): Eventually<BackendCache>;
  loadCache(operation: string, bytes: Uint8Array): Eventually<BackendCache>;
  createLayer(problem: LayerProblem): Eventually<BackendLayer>;
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
  readonly backend: Backend;
  readonly report: Report;
}

/** A cache in an engine. What calls change shows when they have settled. */
export interface BackendCache {
  /** Whether it lies on the GPU: then tensors may lie there too, and results be left there. */
  readonly onGpu?: boolean;
  readonly form: CacheForm;
  /** Tokens ever appended and not rewound, by batch. */
  readonly appended: readonly number[];
  readonly bytes: number;
  append(problem: AppendProblem): Eventually<void>;
  attend(problem: AttendProblem): Eventually<AttentionResult>;
  /** @param lengths - By batch, none above what was appended. */
  rewind(operation: string, lengths: Int32Array): Eventually<void>;
  fork(operation: string): Eventually<BackendCache>;
  slice(operation: string, from: number, to: number): Eventually<BackendCache>;
  save(operation: string): Eventually<Uint8Array>;
  release(): void;
}

/** A layer in an engine. */
export interface BackendLayer {
  /** Of packed weights and tables. */
  readonly bytes: number;
  forward(problem: ForwardProblem): Eventually<AttentionResult>;
  release(): void;
}

/** The adapter behind an instance. */
export interface AdapterReport {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  /** Whether the adapter computes on the CPU. */
  readonly fallback: boolean;
  /** Features in use. */
  readonly features: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
}

/** What createAttention found, and why. */
export interface Report {
  /** Version of the package. */
  readonly version: string;
  readonly backend: "wasm" | "webgpu";
  /** The instruction set in use: relaxed SIMD where the engine has it; `"wgsl"` if WebGPU is the only engine. */
  readonly variant: "simd" | "relaxed" | "wgsl";
  /** Threads of the CPU that compute; 0 if WebGPU is the only engine. */
  readonly threads: number;
  /** The GPU adapter in use, its features and limits. */
  readonly adapter?: AdapterReport;
  /** Why a better choice was not taken, by what was to be chosen: `threads`, `variant`, `webgpu`. */
  readonly reasons: Readonly<Record<string, string>>;
}
