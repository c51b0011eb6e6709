import type { NoReturns, RecordedAttention, ResultAt } from "../attention/attentionResult.js";
import { DisposedError, OptionError, UnsupportedError } from "../base/errors.js";
import { layerCacheProblem, type CacheProblem, type KvCacheOptions } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import { KvCache } from "../cache/kvCache.js";
import { noteTokens, noting, type Append } from "../cache/lastAppend.js";
import { ownPositions } from "../cache/ownPositions.js";
import type { OrAbsent } from "../read/asked.js";
import type { CallArguments } from "../read/callArguments.js";
import { recordsNothing, type EncoderChoice, type RecordedOr, type Recording } from "../read/encoder.js";
import type { LocationChoice } from "../read/location.js";
import { readOptions } from "../read/options.js";
import { renamed } from "../read/renamed.js";
import type { GpuFloats, OnGpu } from "../tensor/gpuTensor.js";
import type { Place } from "../tensor/place.js";
import type { FloatTensor, FloatTensorLike } from "../tensor/tensor.js";
import type { Context, Eventually, Recorded } from "../turn/context.js";
import { Disposing } from "../turn/disposable.js";
import {
  layerBackwardProblem,
  type LayerBackwardOptions,
  type LayerGradientsAt,
  type LayerReturns,
  type UsualLayerGradients,
} from "./backwardProblem.js";
import type { EngineLayer } from "./engineLayer.js";
import type { EngineSaved } from "./engineSaved.js";
import { FORWARD_NAMES, type ForwardOptions } from "./forwardOptions.js";
import type { ForwardProblem } from "./forwardProblem.js";
import { cacheIn, forwardRequest, readRequest, type ForwardRequest } from "./forwardRequest.js";
import type { LayerForm } from "./layerForm.js";
import type { NamedLayerProblem } from "./layerProblem.js";
import type { LayerShape } from "./layerShape.js";
import { layerUpdate, type LayerUpdateWeights } from "./layerUpdate.js";
import type { RecordedForward } from "./recordedForward.js";
import { Saved, savedForm } from "./saved.js";
import { Updates } from "./updates.js";
import type { ForwardReturns, LayerViewsAt } from "./views.js";
import type { WeightGradients } from "./weightGradients.js";

/** Options of a call of forward. `R` is the type of `returns`, `Into` the type of `into`. */
type CallOptions<R, Into> = OnGpu<Omit<ForwardOptions, "returns" | "into" | "location" | "save">> & {
  readonly returns?: R;
  readonly into?: Into;
};

/** What a call of forward gives in addition, if its option `save` is S. */
type SavedPart<S extends boolean | undefined> = S extends true ? { readonly saved: Saved } : NoReturns;

/** Options of `layer.kvCache`: the options of `kvCache`, without those that follow from the layer. */
export type LayerCacheOptions = Omit<KvCacheOptions, "numKvHeads" | "headDim" | "valueDim">;

/**
 * A multi-head attention layer. `multiHeadAttention` of an instance makes one.
 *
 *     Q = X Wq + bq,  K = C Wk + bk,  V = C′ Wv + bv      C and C′ default to X
 *     Y = concat over heads of attention(Q, K, V) Wo + bo
 *
 * It keeps a packed copy of its weights in the engine until `dispose()`, at the latest until the instance is disposed.
 */
export class Layer extends Disposing {
  readonly #context: Context;
  readonly #form: LayerForm;
  readonly #layer: EngineLayer;
  readonly #createCache: (problem: CacheProblem) => Eventually<EngineCache>;
  readonly #gradients: WeightGradients;
  /** What the engine keeps for calls that were saved. */
  readonly #saved = new Set<EngineSaved>();
  readonly #updates = new Updates();
  #disposed = false;

  /** @internal */
  constructor(
    context: Context,
    { shape, layout, position, gradients }: NamedLayerProblem,
    layer: EngineLayer,
    createCache: (problem: CacheProblem) => Eventually<EngineCache>,
  ) {
    super();
    this.#context = context;
    const { kind } = position;
    const turns = position.kind === "rotary" ? position.angles : undefined;
    const positionRows = position.kind === "learned" ? position.table.shape[0]! : undefined;
    this.#form = { shape: Object.freeze(shape), layout, turns, positionRows, usesPositions: kind !== "none" };
    this.#layer = layer;
    this.#gradients = gradients;
    this.#createCache = createCache;
  }

  /** The layer's sizes, with defaults filled in. */
  get shape(): LayerShape {
    return this.#form.shape;
  }

  /** Memory order of x, contexts and output. */
  get layout(): "BSE" | "BES" {
    return this.#form.layout;
  }

  /** The engine in whose memory the weights lie. With backend `"auto"` it may move between two calls. */
  get placement(): Place {
    return this.#layer.placement;
  }

  /** Bytes of the packed weights and tables. Sines and cosines of new positions are kept, so a call may add to it. */
  get bytes(): number {
    return this.#layer.bytes;
  }

  /**
   * Computes the layer.
   *
   * @param x - `[B, S, inputDim]`, or `[B, inputDim, S]` in layout `"BES"`; rank 2 is one batch. float32 or float16. A
   *   layer on WebGPU takes x, contexts, masks, biases and `into` also on the GPU, and with `location: "gpu"` its results
   *   stay there.
   * @returns `output` `[B, S, outputDim]` in the layout, rank and dtype of x, and the results that `options.returns`
   *   names, with the shapes of `scaledDotProductAttention`: probs `[B, heads, S, Skv]` and so on; and what it asks to see
   *   inside of the layer: query, key, value, headOutputs and contributions. With `save: true` also
   *   `saved`, for `backward`.
   * @throws ShapeError, OptionError or UnsupportedError before it computes.
   * @throws EmptyRowError if a query row sees no key and `emptyRows` is `"throw"`.
   * @throws OutOfMemoryError if the engine's memory has no room.
   * @throws DisposedError if the layer or the instance was disposed.
   *
   * With the option `encoder` the call is recorded into that GPUCommandEncoder and not submitted, as a call of
   * `scaledDotProductAttention`. So the layers of a model can be one submit: give the output of one layer to the next. A
   * cache counts the tokens as appended when the call is recorded. Kernels that are not compiled yet are compiled first; a
   * `forward` of the same shapes before avoids that wait.
   */
  async forward<
    const R extends ForwardReturns | undefined = NoReturns,
    X extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats | undefined = X,
    const L extends LocationChoice = "cpu",
    const S extends boolean | undefined = false,
    E extends EncoderChoice = undefined,
  >(
    x: X | GpuFloats,
    options: CallOptions<R, Into> & Recording<E> & { readonly location?: L; readonly save?: S } = {},
  ): Promise<
    RecordedOr<
      E,
      RecordedAttention<R, OrAbsent<Into, FloatTensor>> & LayerViewsAt<"gpu", R>,
      ResultAt<L, R, OrAbsent<Into, X>> & LayerViewsAt<L, R> & SavedPart<S>
    >
  > {
    return (await this.#run(x, options)) as RecordedOr<
      E,
      RecordedAttention<R, OrAbsent<Into, FloatTensor>> & LayerViewsAt<"gpu", R>,
      ResultAt<L, R, OrAbsent<Into, X>> & LayerViewsAt<L, R> & SavedPart<S>
    >;
  }

  /**
   * The gradient of a call of forward: of its inputs, and of the weights by the names under which they were given. The
   * weights must be those of that call: `update` comes after `backward`.
   *
   * A token whose gradient is 0 adds nothing to the weights, whatever it holds; so hidden tokens may hold NaN. Rows
   * without keys have the gradient 0, but NaN with `emptyRows: "nan"`.
   *
   * @param saved - From `forward(x, { save: true })`. The call releases it, unless `keep` is true.
   * @param dOutput - The gradient of the loss with respect to the output, in its shape; float32 or float16.
   * @returns `dInput` in the shape of x, `gradients` by name, `dContext` and `dValueContext` if the call had contexts; or
   *   what `options.returns` names. All are float32.
   * @throws ShapeError, OptionError or UnsupportedError before it computes; OutOfMemoryError.
   * @throws DisposedError if `saved` was used or disposed, or the layer or the instance was disposed.
   */
  async backward<
    const R extends LayerReturns | undefined = UsualLayerGradients,
    const L extends LocationChoice = "cpu",
  >(
    saved: Saved,
    dOutput: FloatTensorLike | GpuFloats,
    options: LayerBackwardOptions<R> & { readonly location?: L } = {},
  ): Promise<LayerGradientsAt<L, R>> {
    const call = this.#arguments("layer.backward", this.#layer.onGpu);
    const savings = Saved.in(this.#updates, call.operation, saved);
    const problem = layerBackwardProblem(call, savings, this.#gradients, dOutput, options);
    Saved.in(this.#updates, call.operation, saved); // an accessor may have disposed it
    if (!problem.keep) savings.take();
    try {
      const result = await this.#context.run(call, async () => this.#layer.backward(problem), problem.signal);
      if (!problem.keep) savings.release();
      const gradients = problem.accumulated ?? result.gradients;
      return { ...result, ...(problem.wanted.gradients && { gradients }) } as LayerGradientsAt<L, R>;
    } catch (error) {
      if (!problem.keep) savings.giveBack();
      throw error;
    }
  }

  /**
   * Replaces weights: any of those that the layer was made with, under the same names and in the same shapes. Calls made
   * before use the old weights, later calls the new ones. What was saved before can no longer be used.
   *
   * @param weights - As the option `weights` of `multiHeadAttention`; `"position.table"`, `"qkNorm.gain"`,
   *   `"qkNorm.gain.query"` and `"qkNorm.gain.key"` as in the gradients.
   * @throws ShapeError or OptionError before any work; OutOfMemoryError; DisposedError.
   */
  async update(
    weights: LayerUpdateWeights,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const call = this.#arguments("layer.update");
    call.changes = true;
    const update = layerUpdate(call, this.#gradients, weights, options);
    const run = () => this.#context.run(call, async () => this.#layer.update(update), update.signal);
    await this.#updates.during(run);
  }

  /**
   * Makes an empty cache for this layer, for `forward(x, { cache })`. It is the instance's `kvCache` with the layer's
   * number of key heads and its widths. If the layer is rotary, a cache with `ring.positions` `"cache"` turns its queries
   * and keys in its stead, by their places.
   *
   * @throws OptionError or ShapeError before any work; OutOfMemoryError; DisposedError.
   */
  async kvCache(options: LayerCacheOptions = {}): Promise<KvCache> {
    const call = this.#arguments("layer.kvCache");
    const { numKvHeads, headDim, valueHeadDim: valueDim } = this.shape;
    const problem = layerCacheProblem(call, { numKvHeads, headDim, valueDim }, options, this.#form.turns);
    const make = async () => new KvCache(this.#context, await this.#createCache(problem));
    return this.#context.run(call, make, problem.signal);
  }

  /** @internal Whether a value is a layer. */
  static is(value: unknown): value is Layer {
    return typeof value === "object" && value !== null && #layer in value;
  }

  /**
   * @internal A call that a step runs many times.
   * @param options - What forward would get, with `into`.
   */
  recorded(
    call: CallArguments,
    context: Context,
    x: object,
    options: Readonly<Record<string, unknown>>,
  ): RecordedForward {
    const { operation } = call;
    const { engine } = context;
    if (this.#context.engine !== engine)
      throw new OptionError(`${operation}: layer must be a layer of this instance, got one of another`);
    const assertAlive = (now: string) => {
      if (this.#disposed) throw new DisposedError(`${now}: a layer of the step was disposed`);
      if (options["cache"] !== undefined) KvCache.in(engine, now, "cache", options["cache"]);
    };
    assertAlive(operation);
    const request = forwardRequest(call, engine, this.#form, x, options);
    const problem = request.inTurn();
    const { cache } = problem;
    const assertUsable = (now: string) => {
      if (cache && ownPositions(cache))
        throw new UnsupportedError(`${now}: a cache whose tokens were given positions does not go with a step`);
      if (cache?.placement === "webgpu") request.inTurn(now); // WebAssembly checks the same itself
    };
    assertUsable(operation);
    return { layer: this.#layer, problem, assertAlive, assertUsable, note: () => noteGain(problem) };
  }

  /** @internal */
  encode(): never {
    throw renamed("layer.encode", "the option encoder of layer.forward");
  }

  #run(x: unknown, options: object): Promise<unknown> {
    const call = this.#arguments("layer.forward", this.#layer.onGpu);
    const { engine } = this.#context;
    const reader = readOptions(call, options, FORWARD_NAMES);
    call.changes = reader.has("cache");
    const version = this.#updates.latest;
    return this.#context.withFormulas(call, reader, [x, cacheIn(call, engine, reader)] as const, (own, given) => {
      const request = readRequest(call, engine, this.#form, own, given);
      const { encoder, signal } = request;
      if (encoder === undefined) return { work: () => this.#compute(request, version), signal };
      const record = this.#recording(call, encoder, request);
      return { work: () => record().results, record, signal };
    });
  }

  async #compute(request: ForwardRequest, version: number): Promise<unknown> {
    const problem = request.inTurn();
    const work = () => this.#layer.forward(problem);
    const gain = gainOf(problem);
    const result = await (gain ? noting(problem.cache!, gain, problem.own, work) : work());
    return result.saved ? { ...result, saved: this.#keep(result.saved, problem, version) } : result;
  }

  #recording(call: CallArguments, encoder: object, request: ForwardRequest): () => Recorded<unknown> {
    const layer = this.#layer;
    if (!layer.record) throw recordsNothing(call.operation, "this layer is on wasm");
    if (request.save) throw new UnsupportedError("layer.forward: save is not offered in a call with encoder");
    return () => {
      const problem: ForwardProblem = { ...request.inTurn(), location: "gpu" };
      const before = problem.cache?.appended;
      const note = () => {
        if (problem.cache?.appended !== before) noteGain(problem);
      };
      const { atOnce, results } = layer.record!(encoder, problem);
      note();
      const noted = results.then((result) => {
        if (!atOnce) note();
        return result;
      });
      return { atOnce, results: noted };
    };
  }

  /** Holds what the engine has kept, until the caller or the layer lets it go. */
  #keep(saved: EngineSaved, problem: ForwardProblem, version: number): Saved {
    const context = this.#context;
    const kept = this.#saved;
    kept.add(saved);
    const release = () => {
      if (kept.delete(saved)) context.release("saved.dispose", () => saved.release());
    };
    const result = new Saved(this.#updates, version, saved, savedForm(problem), release);
    if (this.#disposed) result.dispose();
    return result;
  }

  #arguments(operation: string, onGpu = false): CallArguments {
    const call = this.#context.arguments(operation, onGpu);
    call.needs(() => {
      if (this.#disposed) throw new DisposedError(`${operation}: the layer was disposed`);
    });
    return call;
  }

  /** Gives the memory back after the calls made so far have run. A second `dispose()` does nothing. */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const kept = [...this.#saved];
    this.#saved.clear();
    this.#context.release("layer.dispose", async () => {
      for (const saved of kept) await saved.release();
      await this.#layer.release();
    });
  }
}

/** What a call appends to its cache; undefined: nothing. */
function gainOf({ cache, attendOnly, contextLength, appendLengths }: ForwardProblem): Append | undefined {
  return cache && !attendOnly ? { numTokens: contextLength, lengths: appendLengths } : undefined;
}

/** Notes the tokens that a call has appended to its cache. */
function noteGain(problem: ForwardProblem): void {
  const gain = gainOf(problem);
  if (gain) noteTokens(problem.cache!, gain, problem.own);
}
