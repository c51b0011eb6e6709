import type { Asked } from "../read/asked.js";
import type { LocationChoice } from "../read/location.js";
import type { GpuFloats, GpuResult } from "../tensor/gpuTensor.js";
import type { FloatTensor, FloatTensorLike, HalfArray, Nested, TypedTensor } from "../tensor/tensor.js";
import type { Returns } from "./returns.js";

/** A float32 or float16 result. */
export type FloatResult = TypedTensor<"float32"> | TypedTensor<"float16">;

/**
 * The type of an output, from the type of the query or of `into`. If TypeScript does not know the dtype, it is
 * FloatResult. A GPU tensor that was given as `into` is itself the output.
 */
export type OutputOf<T extends FloatTensorLike | GpuFloats> = [T] extends [GpuFloats]
  ? T
  : [T] extends [{ readonly data: Float32Array }]
    ? TypedTensor<"float32">
    : [T] extends [{ readonly data: Uint16Array | HalfArray }]
      ? TypedTensor<"float16">
      : [T] extends [Nested<number> | { readonly data: readonly number[] }]
        ? TypedTensor<"float32">
        : FloatResult;

/** The result of scaledDotProductAttention. It has what `returns` asked for. */
export interface AttentionResult {
  /** In the layout, rank and dtype of the query; or the tensor that was given as `into`. */
  readonly output: FloatResult;
  /** `[B, heads, queries, Skv]`: the result of the softmax. */
  readonly probs?: TypedTensor<"float32">;
  /** `[B, heads, queries, k]`, largest first. A row with fewer than k keys is filled with value 0 and index −1. */
  readonly topK?: { readonly values: TypedTensor<"float32">; readonly indices: TypedTensor<"int32"> };
  /** `[B, numHeads, Sq]`: natural logarithm of the softmax's denominator. */
  readonly lse?: TypedTensor<"float32">;
  /** `[B, numHeads, Sq]`, in nats. */
  readonly entropy?: TypedTensor<"float32">;
  /** `[B, heads, queries, Skv]`, at the stage that was asked for. */
  readonly scores?: TypedTensor<"float32">;
}

/** The type of an absent `returns`: the result has the output only. */
// oxlint-disable-next-line typescript/no-empty-object-type -- no key is known, so none is asked for or refused
export type NoReturns = {};

/** The type of an absent `value`: undefined in a call without an output, which reads no values. */
export type NoValue<R extends Returns | undefined> = R extends { readonly output: false } ? undefined : never;

/** The parts of `All` that `returns` asks for. If TypeScript cannot know it, the part is optional. */
type Parts<R extends Returns | undefined, All> = Asked<R, Omit<All, "output">>;

/**
 * The output: absent if `output` is false, optional if it is a boolean. For a variable of type Returns it is present.
 */
type OutputPart<R extends Returns | undefined, Output> = Returns extends R
  ? { readonly output: Output }
  : R extends { readonly output: infer Wanted }
    ? [Wanted] extends [false]
      ? NoReturns
      : false extends Wanted
        ? { readonly output?: Output }
        : { readonly output: Output }
    : { readonly output: Output };

/**
 * The result of a call. If TypeScript knows the value of `returns`, the parts that it asks for are not optional. `T` is
 * the tensor that decides the output's dtype: the query, or `into`.
 */
export type ResultOf<
  R extends Returns | undefined = NoReturns,
  T extends FloatTensorLike | GpuFloats = FloatTensor,
> = Parts<R, AttentionResult> & OutputPart<R, OutputOf<T>>;

/** The result of a call with `location: "gpu"` or of a recorded call. Shapes are as in AttentionResult. */
export interface GpuAttentionResult {
  readonly output: GpuResult<"float32"> | GpuResult<"float16">;
  readonly probs?: GpuResult<"float32">;
  readonly topK?: { readonly values: GpuResult<"float32">; readonly indices: GpuResult<"int32"> };
  readonly lse?: GpuResult<"float32">;
  readonly entropy?: GpuResult<"float32">;
  readonly scores?: GpuResult<"float32">;
}

/** A tensor of a result: in JavaScript, or on the GPU. */
export type ResultTensor<D extends "float32" | "float16" | "int32"> = TypedTensor<D> | GpuResult<D>;

/** The output of a call: a new tensor, or the tensor that was given as `into`. */
export type PlacedOutput = ResultTensor<"float32"> | ResultTensor<"float16"> | FloatTensor | GpuFloats;

/** A result as an engine gives it: its tensors lie where the call asked. */
export interface PlacedResult {
  readonly output: PlacedOutput;
  readonly probs?: ResultTensor<"float32">;
  readonly topK?: { readonly values: ResultTensor<"float32">; readonly indices: ResultTensor<"int32"> };
  readonly lse?: ResultTensor<"float32">;
  readonly entropy?: ResultTensor<"float32">;
  readonly scores?: ResultTensor<"float32">;
}

/** The same for results on the GPU. `T` is the tensor given as `into`. Without `into` the output is a new tensor. */
export type GpuResultOf<
  R extends Returns | undefined = NoReturns,
  T extends FloatTensorLike | GpuFloats = FloatTensor,
> = Parts<R, GpuAttentionResult> & OutputPart<R, [T] extends [GpuFloats] ? T : GpuAttentionResult["output"]>;

/** The output of a call with `location` L, which has no other results. */
export type OutputAt<L extends LocationChoice, T extends FloatTensorLike | GpuFloats> = L extends "gpu"
  ? [T] extends [GpuFloats]
    ? T
    : GpuAttentionResult["output"]
  : OutputOf<T>;

/** The result of a call with `location` L. If TypeScript cannot know L, it is either kind. */
export type ResultAt<
  L extends LocationChoice,
  R extends Returns | undefined,
  T extends FloatTensorLike | GpuFloats,
> = L extends "gpu" ? GpuResultOf<R, T> : ResultOf<R, T>;

/** What the commands of a recorded call need. */
export interface RecordedCommands {
  /** Gives all memory of the call back, results included. Submit its commands first. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/**
 * A recorded call and its results. Until `dispose()` it holds the memory of the results and everything else that its
 * commands use.
 */
export type RecordedAttention<
  R extends Returns | undefined = NoReturns,
  T extends FloatTensorLike | GpuFloats = FloatTensor,
> = GpuResultOf<R, T> & RecordedCommands;
