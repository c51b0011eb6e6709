import {
  attentionProblem,
  OPTION_NAMES,
  type AttentionOptions,
  type AttentionProblem,
} from "../attention/attentionProblem.js";
import type {
  NoReturns,
  NoValue,
  OutputAt,
  PlacedResult,
  RecordedAttention,
  ResultAt,
} from "../attention/attentionResult.js";
import type {
  AttentionBackwardOptions,
  GradientReturns,
  GradientsAt,
  UsualGradients,
} from "../attention/backwardProblem.js";
import { noteForMerge } from "../attention/mergeNotes.js";
import type { AttentionPart, GpuMergeResult, MergeOptions, MergeResult } from "../attention/mergeProblem.js";
import type { Returns } from "../attention/returns.js";
import type { Pace } from "../auto/pace.js";
import { touchesGpu } from "../auto/tensors.js";
import { DisposedError, UnsupportedError } from "../base/errors.js";
import type { CacheProblem, KvCacheOptions } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { KvCache } from "../cache/kvCache.js";
import type { SavedCacheOptions } from "../cache/savedCache.js";
import type { Engine, Opened } from "../engine/engine.js";
import type { AllocateOptions, EngineTensor } from "../engine/engineTensor.js";
import type { Report } from "../engine/report.js";
import type { Layer } from "../layer/layer.js";
import type { LayerOptions } from "../layer/layerProblem.js";
import type {
  AllLinearGradients,
  LinearBackwardOptions,
  LinearGradientsAt,
  LinearOptions,
  LinearReturns,
} from "../linear/linearProblem.js";
import type { UploadedWeight } from "../linear/uploadedWeight.js";
import type { Int8Weight } from "../linear/weight.js";
import type { RotaryOptions } from "../position/rotaryProblem.js";
import { beforeAbort } from "../read/abort.js";
import type { OrAbsent } from "../read/asked.js";
import { CallArguments } from "../read/callArguments.js";
import {
  ENCODER,
  encoderOf,
  recordsNothing,
  type EncoderChoice,
  type RecordedOr,
  type Recording,
} from "../read/encoder.js";
import type { LocationChoice, LocationOption } from "../read/location.js";
import { argument, readOptions, type OptionReader } from "../read/options.js";
import { renamed } from "../read/renamed.js";
import { signalIn, snapshot } from "../read/snapshot.js";
import type { Recorder } from "../step/recorder.js";
import type { Step, StepOutputs } from "../step/step.js";
import type { GpuFloats, GpuFloatWeight, OnGpu } from "../tensor/gpuTensor.js";
import type { Place, PlaceChoice } from "../tensor/place.js";
import type { Placement } from "../tensor/placement.js";
import { DTYPES, type Dtype, type FloatTensor, type FloatTensorLike, type FloatWeightLike } from "../tensor/tensor.js";
import type { Eventually, ReadCall, Recorded } from "../turn/context.js";
import { Disposing } from "../turn/disposable.js";
import { along, type Part } from "../turn/late.js";
import { Queue } from "../turn/queue.js";
import { withTurns } from "../turn/turns.js";
import type { CallPlan } from "./callPlan.js";
import { Gpu, type InstanceContext } from "./gpu.js";
import type { InstanceParts } from "./parts.js";
import { runWarmup, warmupProblem, type WarmupOptions, type WarmupShape } from "./warmup.js";

const COMPUTE_OR_RECORD = [...OPTION_NAMES, ENCODER];

/** Options of a call. `R` is the type of `returns`, `Into` the type of `into`. */
type CallOptions<R, Into> = OnGpu<Omit<AttentionOptions, "returns" | "into" | "location">> & {
  readonly returns?: R;
  readonly into?: Into;
};

/**
 * Ends the engine of an instance that was dropped without dispose(). The garbage collector may do that late or never,
 * so call dispose(). Some JavaScript engines have no FinalizationRegistry (Cloudflare Workers before May 2025).
 */
const dropped =
  typeof FinalizationRegistry === "function"
    ? /* @__PURE__ */ new FinalizationRegistry<Engine>((engine) => engine.dispose())
    : undefined;

/**
 * What an engine uses to run work between calls. It must not hold the instance, which otherwise could not be collected after
 * it was dropped; so it is not made in a method, where a function holds `this`.
 */
function turnsOf(self: WeakRef<Attention>): NonNullable<Engine["inTurn"]> {
  return async (work) => {
    const instance = self.deref();
    if (!instance) throw new DisposedError("createAttention: the instance was dropped");
    return instance.between(work);
  };
}

/**
 * An instance: it computes attention, and makes layers, caches and tensors. `createAttention` makes one.
 *
 * Calls may overlap. They run one after another, in the order in which they were made. `signal` aborts a call that
 * still waits. Do not change an input before the call that reads it has settled. Every method checks its arguments
 * before it computes. After an error the instance is still usable.
 */
export class Attention extends Disposing {
  readonly #engine: Engine;
  readonly #report: Report;
  /** The speed of the only engine. It is measured from the first `plan` on. */
  #pace: Pace | undefined;
  readonly #queue = new Queue(this);
  readonly #parts: InstanceParts;
  readonly #context: InstanceContext;
  /** Whether calls let the event loop turn. */
  readonly #yields: boolean;
  #disposed = false;

  /** What belongs to the GPU; undefined for an instance without one. */
  readonly gpu: Gpu | undefined;

  private constructor({ engine, report }: Opened, parts: InstanceParts, yields: boolean) {
    super();
    this.#parts = parts;
    this.#yields = yields && report.backend !== "webgpu"; // the results of a GPU come with an event
    this.#engine = engine;
    this.#report = report;
    this.#context = {
      engine,
      arguments: (operation, onGpu) => this.#arguments(operation, onGpu),
      run: (call, work, signal) => this.#run(call, work, signal),
      record: (call, record, signal) => this.#record(call, record, signal),
      with: (...call) => this.#with(this.#parts.operations, ...call),
      withFormulas: (...call) => this.#withFormulas(...call),
      release: (operation, work) => this.#release(operation, work),
    };
    this.gpu = (engine.hasGpu ?? engine.places.includes("webgpu")) ? new Gpu(this.#context) : undefined;
    const self = new WeakRef(this);
    engine.instance = self;
    engine.inTurn = turnsOf(self);
    dropped?.register(this, engine, this);
  }

  /** @internal */
  static over(engine: Opened, parts: InstanceParts, { yields = false }: { readonly yields?: boolean } = {}): Attention {
    return new this(engine, parts, yields);
  }

  /** What was chosen, and why. Each reading shows what was measured by then. */
  get report(): Report {
    const { live } = this.#engine;
    if (!live) return this.#report;
    const { webgpuReason, ...rest } = live;
    const { reasons } = this.#report;
    return { ...this.#report, ...rest, reasons: { ...reasons, ...(webgpuReason && { webgpu: webgpuReason }) } };
  }

  /**
   * Attention of queries to keys: output = softmax(scale · Q Kᵀ + bias) V (Vaswani et al. 2017), with the masks,
   * position rules and statistics of AttentionOptions. Sums are computed in float32.
   *
   * @param query - `[B, numHeads, Sq, D]` in `options.layout`; rank 2 `[Sq, D]` is one head. float32 or float16.
   * @param key - `[B, numKvHeads, Skv, D]`; numKvHeads must divide numHeads.
   * @param value - `[B, numKvHeads, Skv, Dv]`. undefined in a call without an output (`returns.output: false`), which reads
   *   no values.
   * @returns `output` `[B, numHeads, Sq, Dv]` in the layout, rank and dtype of the query, and the results that
   *   `options.returns` names. All are new arrays, except `into`.
   * @throws ShapeError, OptionError or UnsupportedError before it computes.
   * @throws EmptyRowError if a query row sees no key and `emptyRows` is `"throw"`.
   * @throws OutOfMemoryError if the engine's memory has no room.
   * @throws DisposedError if the instance was disposed.
   *
   * With the option `encoder`, a GPUCommandEncoder, the call is recorded there and not submitted. Its results lie on the GPU,
   * and are valid after the caller has submitted. If no other call of the instance is pending and the kernels are compiled
   * (`warmup` with `compute: false` compiles them), the commands are recorded before this method returns its promise. The
   * promise then waits only for what is new to the device: the encoder, a buffer, new memory. If it rejects, discard the
   * encoder. Other errors of the call surface where a result is read, or at the next call. The commands need memory in
   * addition to the results. It is used again when all results are disposed or when the returned object is disposed, and it
   * is freed when the instance is disposed. Submit before that.
   */
  async scaledDotProductAttention<
    const R extends Returns | undefined = NoReturns,
    Q extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats | undefined = Q,
    const L extends LocationChoice = "cpu",
    E extends EncoderChoice = undefined,
  >(
    query: Q | GpuFloats,
    key: FloatTensorLike | GpuFloats,
    value: FloatTensorLike | GpuFloats | NoValue<R>,
    options: CallOptions<R, Into> & Recording<E> & { readonly location?: L } = {},
  ): Promise<RecordedOr<E, RecordedAttention<R, OrAbsent<Into, FloatTensor>>, ResultAt<L, R, OrAbsent<Into, Q>>>> {
    return (await this.#attention(query, key, value, options)) as RecordedOr<
      E,
      RecordedAttention<R, OrAbsent<Into, FloatTensor>>,
      ResultAt<L, R, OrAbsent<Into, Q>>
    >;
  }

  /**
   * The gradient of `scaledDotProductAttention`: from dOutput, the gradient of a loss with respect to the output, those
   * with respect to the inputs and options. The weights p are computed again from `lse`, so no memory of Sq × Skv is
   * needed (Dao et al. 2022, appendix B; Dao 2023). For one head, with δ_i = dOutput_i · output_i − dLse_i:
   *
   *     ds_ij          = p_ij (headGain · dOutput_i · v_j − δ_i)    for each visible pair; the score before the softmax
   *     dValue_j       = Σ_i headGain · p_ij · dOutput_i
   *     dHeadGain      = Σ_ij p_ij (dOutput_i · v_j)
   *     dSinks         = −Σ_i exp(sink − lse_i) δ_i
   *     dTables        : ds_ij · ∂score/∂entry, summed over the pairs that read the entry
   *     ds_ij          = ds_ij · ∂score/∂s                          with the option score
   *     dBias          = ds                                         summed over the axes along which the bias repeats
   *     dAlibiSlopes   = −Σ_ij ds_ij |i + offset − j|
   *     ds_ij          = ds_ij (1 − (softcapped_ij / softcap)²)     with softcap
   *     dQuery_i       = scale · Σ_j ds_ij k_j,   dKey_j = scale · Σ_i ds_ij q_i
   *
   * dKey and dValue are summed over the query heads of a key head. Rows without keys have zero gradients under every
   * `emptyRows`; with `"nan"` their dQuery is NaN. A hidden pair changes no bit of any gradient, also if its numbers are
   * NaN. The bits do not depend on the number of threads. In a formula `abs` has the slope 0 at 0. Two equal operands of `min`
   * and `max` get half of the gradient each. `floor` and `sign` have the slope 0.
   *
   * @param options - The inputs and options of the forward call; its results `output` and `lse`; `dOutput` in the shape
   *   of the output; `dLse` in the shape of lse, if the loss reads lse; and in `returns` which gradients to compute.
   *   float32 or float16; lse and dLse float32.
   * @returns The gradients that `options.returns` names, or `dQuery`, `dKey` and `dValue`: float32, each in the shape and
   *   layout of what it belongs to. `dSinks`, `dHeadGain` and `dAlibiSlopes` are `[numHeads]`. `dHeadGain` is also there
   *   for a call without headGain: it is then the gradient at 1.
   * @throws ShapeError, OptionError or UnsupportedError before it computes.
   * @throws EmptyRowError if a query row sees no key and `emptyRows` is `"throw"`.
   * @throws OutOfMemoryError if the engine's memory has no room.
   * @throws DisposedError if the instance was disposed.
   */
  async attentionBackward<
    const R extends GradientReturns | undefined = UsualGradients,
    const L extends LocationChoice = "cpu",
  >(options: AttentionBackwardOptions<R> & LocationOption<L>): Promise<GradientsAt<L, R>> {
    const call = this.#arguments("attentionBackward", this.#engine.onGpu);
    return (await this.#with(
      along(this.#parts.operations, this.#parts.formulas),
      call,
      [options] as const,
      ({ backwardProblem }, given) => backwardProblem(call, ...given),
      (problem) => this.#engine.attentionBackward(problem),
    )) as GradientsAt<L, R>;
  }

  /**
   * Merges attention results over disjoint sets of keys into the result over all keys. So a long sequence can be
   * computed in parts. output = Σ exp(lse_p − lse) · output_p, with lse = ln(Σ exp(lse_p) + Σ exp(sink)).
   *
   * @param parts - Results with `lse` for the same queries, computed without sinks and with `emptyRows: "zero"`.
   * @throws ShapeError if the shapes of the parts differ.
   * @throws OptionError if a part was computed with sinks or with another `emptyRows`.
   */
  async mergeAttention<const L extends LocationChoice = "cpu">(
    parts: readonly AttentionPart[],
    options: MergeOptions & LocationOption<L> = {},
  ): Promise<L extends "gpu" ? GpuMergeResult : MergeResult> {
    const call = this.#arguments("mergeAttention", this.#engine.onGpu);
    return (await this.#with(
      this.#parts.operations,
      call,
      [parts, options] as const,
      ({ mergeProblem }, given) => mergeProblem(call, ...given),
      (problem) => this.#engine.merge(problem),
    )) as L extends "gpu" ? GpuMergeResult : MergeResult;
  }

  /**
   * Rotary embedding: turns pairs of features by an angle that grows with the token's position. The dot product of a
   * query and a key then depends only on the distance between them (Su et al. 2021). Angles are computed in double
   * precision.
   *
   * @param x - Queries or keys, `[B, H, S, D]` in `options.layout`; float32 or float16.
   * @returns A tensor with the shape and dtype of x.
   * @throws ShapeError, OptionError or UnsupportedError before it computes; OutOfMemoryError; DisposedError.
   */
  async rotaryEmbedding<
    X extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats | undefined = X,
    const L extends LocationChoice = "cpu",
  >(
    x: X | GpuFloats,
    options: Omit<RotaryOptions, "into"> & LocationOption<L> & { readonly into?: Into } = {},
  ): Promise<OutputAt<L, OrAbsent<Into, X>>> {
    const call = this.#arguments("rotaryEmbedding", this.#engine.onGpu);
    return (await this.#with(
      this.#parts.operations,
      call,
      [x, options] as const,
      ({ rotaryProblem }, given) => rotaryProblem(call, ...given),
      (problem) => this.#engine.rotary(problem),
    )) as OutputAt<L, OrAbsent<Into, X>>;
  }

  /**
   * A linear map: y = x · weight + bias for every row of x. Sums are computed in float32. With WebAssembly a row's bits
   * do not depend on the other rows.
   *
   * A weight may be kept in fewer bytes: in float16 or bfloat16, or in int8 with a scale for each output, which
   * `quantizeWeight` makes. With WebAssembly up to 8 rows read it once where it lies, and numbers are widened in
   * registers. So a step of generating text takes about as long as reading the bytes of the weight. A weight in a tensor of
   * `allocate` is not copied; with WebGPU, give a weight that many calls use to `uploadWeight` once.
   *
   * @param x - `[…, inputDim]`, of any rank from 1 on; float32 or float16.
   * @param weight - `[inputDim, outputDim]`; with `weightLayout: "out-in"` it is `[outputDim, inputDim]`, as PyTorch has
   *   it. float32, float16, bfloat16, or int8 with `scales`: an Int8Weight. Or what `uploadWeight` has made of such a weight.
   * @param bias - `[outputDim]`. Default: none.
   * @returns `[…, outputDim]`, in the dtype of x or of `into`.
   * @throws ShapeError, OptionError or UnsupportedError before it computes; OutOfMemoryError; DisposedError.
   */
  async linear<
    X extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats | undefined = X,
    const L extends LocationChoice = "cpu",
  >(
    x: X | GpuFloats,
    weight: FloatWeightLike | GpuFloatWeight | Int8Weight | UploadedWeight,
    bias?: FloatWeightLike | GpuFloatWeight,
    options: Omit<LinearOptions, "into"> & LocationOption<L> & { readonly into?: Into } = {},
  ): Promise<OutputAt<L, OrAbsent<Into, X>>> {
    const call = this.#arguments("linear", this.#engine.onGpu);
    return (await this.#with(
      this.#parts.operations,
      call,
      [x, weight, bias, options] as const,
      ({ linearProblem }, given) => linearProblem(call, this.#engine, ...given),
      (problem) => this.#engine.linear(problem),
    )) as OutputAt<L, OrAbsent<Into, X>>;
  }

  /**
   * The gradient of `linear`: dInput = dOutput · weightᵀ, dWeight = xᵀ · dOutput, and dBias, the sum of the rows of
   * dOutput. Sums are computed in float32. A row of dOutput that is 0 adds nothing, whatever its row of x holds.
   *
   * @param options - `x` and `weight` as `linear` had them, and `dOutput` `[…, outputDim]`.
   * @returns `dInput` in the shape of x, `dWeight` in that of the weight, `dBias` `[outputDim]`; or those that
   *   `options.returns` names. They are float32.
   * @throws ShapeError, OptionError or UnsupportedError before it computes; OutOfMemoryError; DisposedError.
   */
  async linearBackward<
    const R extends LinearReturns | undefined = AllLinearGradients,
    const L extends LocationChoice = "cpu",
  >(options: LinearBackwardOptions<R> & LocationOption<L>): Promise<LinearGradientsAt<L, R>> {
    const call = this.#arguments("linearBackward", this.#engine.onGpu);
    return (await this.#with(
      this.#parts.operations,
      call,
      [options] as const,
      ({ linearBackwardProblem }, given) => linearBackwardProblem(call, ...given),
      (problem) => this.#engine.linearBackward(problem),
    )) as LinearGradientsAt<L, R>;
  }

  /**
   * Makes a layer: input projections, attention of every head, and the output projection. It copies the weights.
   *
   * @throws ShapeError, OptionError or UnsupportedError before any work; OutOfMemoryError; DisposedError.
   */
  async multiHeadAttention(options: LayerOptions): Promise<Layer> {
    const call = this.#arguments("multiHeadAttention");
    const createCache = (cache: CacheProblem) => this.#createCache(cache);
    return this.#with(
      this.#parts.layers,
      call,
      [options] as const,
      ({ layerProblem }, given) => this.#placeable(layerProblem(call, ...given)),
      async (problem, { Layer }) =>
        new Layer(this.#context, problem, await this.#engine.createLayer(problem), createCache),
    );
  }

  /**
   * Makes an empty cache of keys and values, to decode token by token: `append` the projected keys and values, then
   * `attend`. With `from` it makes the cache that was saved.
   *
   * @throws OptionError or ShapeError before any work, OptionError with code `"CORRUPT_DATA"` if the bytes of `from` are
   *   damaged or are not a saved cache; UnsupportedError if this instance has no engine of the name `placement`;
   *   OutOfMemoryError; DisposedError.
   */
  async kvCache(options: KvCacheOptions | SavedCacheOptions): Promise<KvCache> {
    const call = this.#arguments("kvCache");
    const engine = this.#engine;
    return this.#with(
      this.#parts.layers,
      call,
      [options] as const,
      ({ kvCacheProblem }, given) => this.#placeable(kvCacheProblem(call, ...given)),
      async (problem, { KvCache, restoreCache }) =>
        new KvCache(
          this.#context,
          await ("from" in problem ? restoreCache(engine, problem) : engine.createCache(problem)),
        ),
    );
  }

  /**
   * Records a step: a fixed list of operations that then runs as one call, many times. A token of a model is a hundred small
   * calls; so it pays for one of them only. Attention and products have the bits that their own calls have.
   *
   *     const step = await hw.record((recorder) => {
   *       const x = recorder.rows(embedding, recorder.numbers("token"));
   *       const y = recorder.add(x, recorder.layer(layer, recorder.rmsNorm(x, gain), { cache, causal: true }));
   *       return { logits: recorder.linear(y, embedding, undefined, { weightLayout: "out-in" }) };
   *     });
   *     const { logits } = await step.run({ token: [5] });
   *
   * A step computes with wasm, or with WebGPU in an instance that has only WebGPU; there a run is one submit. Layers and
   * caches of backend `"auto"` must have `placement: "wasm"`.
   *
   * @param build - Records the operations, and returns the outputs by name. It runs once.
   * @param options - `signal` ends the wait for `build` and for the call's turn. If it has aborted, `build` does not run.
   * @throws OptionError, ShapeError or UnsupportedError if something cannot be recorded; what `build` throws;
   *   OutOfMemoryError; DisposedError.
   */
  async record<O extends StepOutputs>(
    build: (recorder: Recorder) => O | Promise<O>,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Step<O>> {
    const call = this.#arguments("record");
    const signal = readOptions(call, options, ["signal"]).signal();
    const { recordStep } = await beforeAbort(this.#parts.steps.load(call.operation), signal);
    this.#assertAlive(call.operation);
    return recordStep<O>(call, this.#context, this.#engine, build, signal);
  }

  /** @internal Begins to load what products need, beside other work. A failure is that of the call which needs it. */
  expectProducts(operation: string): void {
    void this.#parts.operations.load(operation).catch(() => undefined);
    this.#engine.expectLatePart?.(operation);
  }

  /** @internal Where steps compute. */
  get stepPlace(): Place {
    return this.#engine.places.includes("wasm") ? "wasm" : "webgpu";
  }

  /** @internal Whether a step can read weights where they lie: in `allocate` or `uploadWeight`. In a worker it has copies. */
  get recordsInPlace(): boolean {
    return this.#engine.locate !== undefined || this.#engine.uploadWeight !== undefined;
  }

  /**
   * Makes a tensor inside the engine, of zeros unless `zeros` is false. Calls read it, or write it as `into`, without a copy.
   *
   * It lives until its `dispose()`, or until the instance is disposed. It counts towards `maximumMemory`; in `headwise/worker`
   * it is shared memory of its own, and does not.
   *
   * @param dtype - Default `"float32"`.
   * @throws OptionError or ShapeError if an argument is not allowed.
   * @throws OutOfMemoryError if the engine's memory has no room.
   */
  allocate<D extends Dtype = "float32">(
    shape: readonly number[],
    dtype?: D,
    options: AllocateOptions = {},
  ): EngineTensor<D> {
    const call = this.#arguments("allocate");
    const chosen = argument(call, "dtype", dtype).oneOf("dtype", DTYPES, "float32");
    const extents = call.shape("tensor", shape);
    const zeros = readOptions(call, options, ["zeros"]).flag("zeros", true);
    return this.#engine.allocate(call.operation, { shape: extents, dtype: chosen as D, zeros }, (release) =>
      this.#release("tensor.dispose", release),
    );
  }

  /**
   * Computes one call with zeros of this shape, so that the engine has compiled everything before the first real call.
   * With `location: "gpu"` the GPU computes, also if the instance has the backend `"auto"`. With `compute: false` the call
   * is compiled and not computed; on WebAssembly there is nothing to compile.
   *
   * @throws The errors of `scaledDotProductAttention`.
   */
  async warmup(shape: WarmupShape, options: WarmupOptions = {}): Promise<void> {
    const call = this.#arguments("warmup", this.#engine.onGpu);
    const given = readOptions(call, options, [...OPTION_NAMES, "compute"]);
    await this.#withFormulas(call, given, [shape] as const, (reader, [sizes]) => {
      const computes = reader.flag("compute", true);
      const problem = warmupProblem(call, sizes, reader);
      const work = () => (computes ? runWarmup(this.#engine, problem) : this.#engine.prepare?.(problem));
      return { work, signal: problem.signal };
    });
  }

  /**
   * What a call of scaledDotProductAttention with inputs of this shape would cost, before it is made: bytes of
   * memory by purpose, the predicted time on each engine, the engine that would compute it now and why, and the longest
   * sequence that fits. Nothing is computed or allocated, so the shape may be larger than any memory. From the first plan on,
   * the times of calls refine the prediction.
   *
   * @throws ShapeError, OptionError or UnsupportedError as the call would; DisposedError.
   */
  async plan(shape: WarmupShape, options: AttentionOptions = {}): Promise<CallPlan> {
    this.#assertAlive("plan");
    const given = snapshot([shape, options] as const);
    const loading = this.#parts.plans.load("plan");
    const { outlinedProblem, Pace, planCall } = await beforeAbort(loading, signalIn(given));
    this.#assertAlive("plan");
    const problem = outlinedProblem(this.#placement(this.#engine.onGpu && this.gpu !== undefined), ...given);
    const { report } = this;
    this.#pace ??= new Pace(report.backend, report.threads);
    const { engines, state } = report.calibration;
    const isOff = state === "off";
    const speeds = isOff ? { [report.backend]: this.#pace.speed } : engines;
    const places = isOff && problem.location === "cpu" ? [report.backend] : this.#engine.places;
    return planCall(problem, { report, places, speeds });
  }

  /**
   * Ends the engine and its threads and gives its memory back. The running call, waiting calls and later calls reject
   * with DisposedError. Earlier results stay valid; results on the GPU stay valid only if the device is the caller's. A
   * second `dispose()` does nothing.
   */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    dropped?.unregister(this);
    this.#engine.dispose();
  }

  /** @internal */
  get device(): never {
    throw renamed("device", "hw.gpu.device");
  }

  /** @internal */
  get kernelTimes(): never {
    throw renamed("kernelTimes", "hw.gpu.times");
  }

  /** @internal */
  upload(): never {
    throw renamed("upload", "hw.gpu.upload");
  }

  /** @internal */
  uploadWeight(): never {
    throw renamed("uploadWeight", "hw.gpu.uploadWeight");
  }

  /** @internal */
  download(): never {
    throw renamed("download", "hw.gpu.download");
  }

  /** @internal */
  encode(): never {
    throw renamed("encode", "the option encoder of scaledDotProductAttention");
  }

  /** @internal */
  prepare(): never {
    throw renamed("prepare", "warmup(shape, { compute: false })");
  }

  /** @internal */
  loadCache(): never {
    throw renamed("loadCache", "kvCache({ from: bytes })");
  }

  /** @internal Runs work of the engine between two calls. */
  between<T>(work: () => Eventually<T>): Promise<T> {
    this.#assertAlive("createAttention");
    return this.#queue.run(work);
  }

  /** @internal As `Placement` has it; `headwise/onnx` reads its inputs by it. */
  readonly locate: NonNullable<Placement["locate"]> = (operation, argument, given, view) => {
    this.#assertAlive(operation);
    return this.#engine.locate?.(operation, argument, given, view);
  };

  /** @internal Frees something on the GPU. */
  afterCalls(work: () => void): void {
    if (this.#disposed || this.#queue.isIdle) work();
    else void this.#queue.run(work);
  }

  /** Makes the reader of a new call's arguments. */
  #arguments(operation: string, onGpu = false): CallArguments {
    this.#assertAlive(operation);
    return new CallArguments(operation, this.#placement(onGpu));
  }

  #placement(onGpu = false): Placement {
    return { onGpu, locate: this.locate };
  }

  #createCache(problem: CacheProblem): Eventually<EngineCache> {
    return this.#engine.createCache(this.#placeable(problem));
  }

  /** Throws if a layer or a cache shall lie in an engine that this instance does not have. */
  #placeable<P extends { readonly operation: string; readonly placement?: PlaceChoice | undefined }>(problem: P): P {
    const { operation, placement = "auto" } = problem;
    const { places } = this.#engine;
    if (placement === "auto" || places.includes(placement)) return problem;
    throw new UnsupportedError(
      `${operation}: placement must be "auto" or "${places.join('" or "')}", got "${placement}": this instance has no ` +
        `other engine`,
      { hint: 'createAttention with backend "auto" has both.' },
    );
  }

  #run<T>(call: CallArguments, work: () => Eventually<T>, signal?: AbortSignal): Promise<T> {
    call.assertAlive();
    const { operation } = call;
    const assertAdmitted = this.#engine.admit?.(operation);
    const begin = () => {
      this.#assertAlive(operation);
      assertAdmitted?.();
      call.assertIntact();
      return work();
    };
    const engine = this.#engine;
    const abandons = () => (engine.abandons && !call.changes) || (engine.drop?.() ?? false);
    const running = this.#queue.run(begin, signal, abandons);
    return this.#yields ? withTurns(running) : running;
  }

  /**
   * Runs a call whose code is loaded when it is first needed. Arguments are read now if the code is there. Otherwise they
   * are kept as they are now, and the call takes its turn and reads them then.
   */
  #with<Code, Given extends readonly unknown[], Problem extends { readonly signal?: AbortSignal | undefined }, T>(
    part: Part<Code>,
    call: CallArguments,
    given: Given,
    read: (code: Code, given: Given) => Problem,
    work: (problem: Problem, code: Code) => Eventually<T>,
  ): Promise<T> {
    const { loaded } = part;
    if (!loaded) {
      const kept = snapshot(given);
      return this.#after(part, call, signalIn(kept), (code) => work(read(code, kept), code));
    }
    const problem = read(loaded, given);
    return this.#run(call, () => work(problem, loaded), problem.signal);
  }

  /** As `Context` has it. */
  #withFormulas<Given extends readonly unknown[]>(
    call: CallArguments,
    options: OptionReader,
    given: Given,
    read: (options: OptionReader, given: Given) => ReadCall,
  ): Promise<unknown> {
    const { formulas } = this.#parts;
    if (!formulas.loaded && (options.has("score") || options.has("visible"))) {
      const [own, kept] = [options.kept(), snapshot(given)];
      const signal = signalIn([{ signal: options.value("signal") }]);
      return this.#after(formulas, call, signal, () => read(own, kept).work());
    }
    const { work, record, signal } = read(options, given);
    return record ? this.#record(call, record, signal) : this.#run(call, work, signal);
  }

  /** Runs a call whose code comes: it takes its turn and waits there. */
  #after<Code, T>(
    part: Part<Code>,
    call: CallArguments,
    signal: AbortSignal | undefined,
    readAndWork: (code: Code) => Eventually<T>,
  ): Promise<T> {
    const coming = part.load(call.operation);
    coming.catch(() => undefined); // the call sees it at its turn
    const work = async () => {
      const code = await beforeAbort(coming, signal);
      this.#assertAlive(call.operation);
      return readAndWork(code);
    };
    return this.#run(call, work, signal);
  }

  #attention(query: unknown, key: unknown, value: unknown, options: object): Promise<unknown> {
    const call = this.#arguments("scaledDotProductAttention", this.#engine.onGpu);
    const given = readOptions(call, options, COMPUTE_OR_RECORD);
    return this.#withFormulas(call, given, [query, key, value] as const, (reader, [q, k, v]) => {
      const problem = attentionProblem(call, q, k, v, reader);
      const { signal } = problem;
      const encoder = encoderOf(reader);
      if (encoder === undefined) return { work: () => this.#compute(problem), signal };
      const record = this.#recording(encoder, problem);
      return { work: () => record().results, record, signal };
    });
  }

  async #compute(problem: AttentionProblem): Promise<PlacedResult> {
    const begin = performance.now();
    const result = await this.#engine.attention(problem);
    if (!touchesGpu(problem)) this.#pace?.learn(problem, (performance.now() - begin) / 1000);
    noteForMerge(result, problem.settings);
    return result;
  }

  #recording(encoder: object, problem: AttentionProblem): () => Recorded<unknown> {
    const engine = this.#engine;
    if (!engine.record) throw recordsNothing(problem.operation, `this instance computes with ${this.report.backend}`);
    return () => engine.record!(encoder, { ...problem, location: "gpu" });
  }

  /**
   * Records a call: before it returns if no call is pending and nothing has to be compiled. Then it does not wait in the
   * queue, so that several calls can be recorded one after the other.
   */
  async #record<T>(call: CallArguments, record: () => Recorded<T>, signal?: AbortSignal): Promise<T> {
    if (!this.#queue.isIdle || signal?.aborted) return this.#run(call, () => record().results, signal);
    call.assertAlive();
    call.assertIntact();
    const { atOnce, results } = record();
    if (atOnce) return results;
    results.catch(() => undefined); // if the instance ends before this call's turn, nobody awaits them
    return this.#run(call, () => results);
  }

  #release(operation: string, work: () => Eventually<void>): void {
    if (this.#disposed) return;
    this.#run(new CallArguments(operation), work).catch(() => undefined); // the instance was disposed in the meantime
  }

  #assertAlive(operation: string): void {
    if (this.#disposed)
      throw new DisposedError(`${operation}: the instance was disposed`, { hint: "createAttention makes a new one." });
  }
}
