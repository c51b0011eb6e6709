import type { GpuFloats, GpuResult } from "../tensor/gpuTensor.js";
import type { FloatTensor, FloatTensorLike, HalfArray, Nested, TypedTensor } from "../tensor/tensor.js";
import type { Returns } from "./returns.js";

/** A float result in the dtype of the inputs. */
export type FloatResult = TypedTensor<"float32"> | TypedTensor<"float16">;

/**
 * The output of a call on a tensor, or into one: of its dtype, as far as TypeScript knows that. A tensor on the GPU that was
 * given as `into` is itself the output.
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
export type ResultOf<R extends Returns = NoReturns, T extends FloatTensorLike | GpuFloats = FloatTensor> = Parts<
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
export type GpuResultOf<R extends Returns = NoReturns, T extends FloatTensorLike | GpuFloats = FloatTensor> = Parts<
  R,
  GpuAttentionResult
> &
  OutputPart<R, [T] extends [GpuFloats] ? T : GpuAttentionResult["output"]>;

/** The result of a call with `location` L: both kinds where TypeScript cannot know it. */
export type ResultAt<
  L extends "cpu" | "gpu",
  R extends Returns,
  T extends FloatTensorLike | GpuFloats,
> = L extends "gpu" ? GpuResultOf<R, T> : ResultOf<R, T>;

/** A call that was recorded: its results, which hold their memory and what the commands need besides until `dispose()`. */
export type RecordedAttention<
  R extends Returns = NoReturns,
  T extends FloatTensorLike | GpuFloats = FloatTensor,
> = GpuResultOf<R, T> & {
  /** Gives back everything of the call. Submit its commands before. */
  dispose(): void;
  [Symbol.dispose](): void;
};
