import { attentionProblem, OPTION_NAMES, type AttentionOptions } from "../attention/attentionProblem.js";
import type { NoReturns, OutputOf, RecordedAttention, ResultAt } from "../attention/attentionResult.js";
import { noteForMerge } from "../attention/mergeNotes.js";
import { mergeProblem, type AttentionPart, type MergeOptions, type MergeResult } from "../attention/mergeProblem.js";
import type { Returns } from "../attention/returns.js";
import { cacheProblem, type CacheProblem, type KvCacheOptions } from "../cache/cacheProblem.js";
import { KvCache } from "../cache/kvCache.js";
import { CallArguments } from "../call/callArguments.js";
import type { Context, Eventually } from "../call/context.js";
import { Disposing } from "../call/disposable.js";
import { argument, readOptions } from "../call/options.js";
import { Queue } from "../call/queue.js";
import type { Engine, Opened } from "../engine/engine.js";
import type { EngineTensor } from "../engine/engineTensor.js";
import type { KernelTime, Report } from "../engine/report.js";
import { DisposedError, UnsupportedError } from "../errors/errors.js";
import { Layer } from "../layer/layer.js";
import { layerProblem, type LayerOptions } from "../layer/layerProblem.js";
import { rotaryProblem, type RotaryOptions } from "../position/rotaryProblem.js";
import type { GpuFloats, OnGpu } from "../tensor/gpuTensor.js";
import type { Placement } from "../tensor/placement.js";
import { BYTES, type Dtype, type FloatTensor, type FloatTensorLike } from "../tensor/tensor.js";
import { runWarmup, warmupProblem, type WarmupShape } from "./warmup.js";

/** Options of a call: `R` is what it returns, `Into` the tensor that it writes to. */
type CallOptions<R, Into> = OnGpu<Omit<AttentionOptions, "returns" | "into" | "location">> & {
  readonly returns?: R;
  readonly into?: Into;
};

/**
 * A net under instances that are dropped without dispose(). It may run late or never: dispose what you make. Some engines
 * have no registry (Cloudflare Workers of before May 2025).
 */
const dropped =
  typeof FinalizationRegistry === "function"
    ? /* @__PURE__ */ new FinalizationRegistry<Engine>((engine) => engine.dispose())
    : undefined;

/**
 * An engine ready to compute attention; `createAttention` makes one.
 *
 * Calls may overlap: they run one after another, in the order in which they were made, and `signal` aborts one that
 * still waits. Inputs must not change until the call that reads them has settled. Every method checks its arguments
 * before it computes and leaves the instance usable whatever it throws.
 */
export class Attention extends Disposing {
  /** What was chosen when the instance was made, and why. */
  readonly report: Report;
  readonly #engine: Engine;
  readonly #queue = new Queue(this);
  readonly #context: Context;
  #disposed = false;

  private constructor({ engine, report }: Opened) {
    super();
    this.report = report;
    this.#engine = engine;
    this.#context = {
      engine,
      arguments: (operation, onGpu) => this.#arguments(operation, onGpu),
      run: (call, work, signal) => this.#run(call, work, signal),
      release: (operation, work) => this.#release(operation, work),
    };
    engine.instance = new WeakRef(this);
    dropped?.register(this, engine, this);
  }

  /** @internal */
  static over(engine: Opened): Attention {
    return new this(engine);
  }

  /**
   * Attention of queries to keys: output = softmax(scale · Q Kᵀ + bias) V (Vaswani et al. 2017), with every mask,
   * position rule and statistic of AttentionOptions.
   *
   * @param query - `[B, numHeads, Sq, D]` in `options.layout`; rank 2 `[Sq, D]` is one head. float32 or float16.
   * @param key - `[B, numKvHeads, Skv, D]`; numKvHeads divides numHeads.
   * @param value - `[B, numKvHeads, Skv, Dv]`.
   * @returns `output` of the query's layout, rank and dtype, and what `options.returns` asks for, in arrays of the
   *   caller's own. Sums run in float32.
   * @throws ShapeError, OptionError, UnsupportedError before any work; EmptyRowError with `emptyRows: "throw"`;
   *   OutOfMemoryError; DisposedError.
   */
  async scaledDotProductAttention<
    const R extends Returns = NoReturns,
    Q extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats = Q,
    const L extends "cpu" | "gpu" = "cpu",
  >(
    query: Q | GpuFloats,
    key: FloatTensorLike | GpuFloats,
    value: FloatTensorLike | GpuFloats,
    options: CallOptions<R, Into> & { readonly location?: L } = {},
  ): Promise<ResultAt<L, R, Into>> {
    const call = this.#arguments("scaledDotProductAttention", this.#engine.onGpu);
    const problem = attentionProblem(call, query, key, value, readOptions(call, options, OPTION_NAMES));
    const compute = async () => {
      const result = await this.#engine.attention(problem);
      noteForMerge(result, problem.settings);
      return result;
    };
    return (await this.#run<unknown>(call, compute, problem.signal)) as ResultAt<L, R, Into>;
  }

  /**
   * Unites results over disjoint sets of keys into the result over all of them: the seam along which long sequences
   * split. With lse the logarithm of the parts' summed exponentials and of the sinks, output = Σ exp(lse_p − lse) · output_p.
   *
   * @param parts - Results with lse over the same queries, computed without sinks and with `emptyRows: "zero"`.
   * @throws ShapeError if the parts differ in shape; OptionError if one was computed with sinks or another policy.
   */
  async mergeAttention(parts: readonly AttentionPart[], options: MergeOptions = {}): Promise<MergeResult> {
    const call = this.#arguments("mergeAttention");
    const problem = mergeProblem(call, parts, options);
    return this.#run(call, () => this.#engine.merge(problem), problem.signal);
  }

  /**
   * Turns pairs of features by their token's position, so that the dot product of a query and a key depends on the
   * distance between them only (Su et al. 2021).
   *
   * @param x - Queries or keys, `[B, H, S, D]` in `options.layout`; float32 or float16.
   * @returns A tensor of x's shape and dtype. Angles are taken in double precision.
   */
  async rotaryEmbedding<X extends FloatTensorLike, Into extends FloatTensorLike = X>(
    x: X,
    options: RotaryOptions & { readonly into?: Into } = {},
  ): Promise<OutputOf<Into>> {
    const call = this.#arguments("rotaryEmbedding");
    const problem = rotaryProblem(call, x, options);
    return (await this.#run(call, () => this.#engine.rotary(problem), problem.signal)) as OutputOf<Into>;
  }

  /**
   * A layer: projections of its input to queries, keys and values, attention of every head, and the output projection.
   * The weights are copied.
   *
   * @throws ShapeError, OptionError, UnsupportedError before any work; OutOfMemoryError; DisposedError.
   */
  async multiHeadAttention(options: LayerOptions): Promise<Layer> {
    const call = this.#arguments("multiHeadAttention");
    const problem = layerProblem(call, options);
    const createCache = (cache: CacheProblem) => this.#engine.createCache(cache);
    const make = async () => new Layer(this.#context, problem, await this.#engine.createLayer(problem), createCache);
    return this.#run(call, make, problem.signal);
  }

  /**
   * An empty cache of keys and values, for decoding token by token: `append` what was projected, then `attend`.
   *
   * @throws OptionError, ShapeError; OutOfMemoryError; DisposedError.
   */
  async kvCache(options: KvCacheOptions): Promise<KvCache> {
    const call = this.#arguments("kvCache");
    const problem = cacheProblem(call, options);
    return this.#run(call, async () => new KvCache(this.#context, await this.#engine.createCache(problem)));
  }

  /**
   * The cache that `cache.save()` made these bytes of. Nothing is built of bytes that are damaged or foreign.
   *
   * @throws OptionError with code `"CORRUPT_DATA"` for such bytes; OutOfMemoryError; DisposedError.
   */
  async loadCache(bytes: Uint8Array): Promise<KvCache> {
    const call = this.#arguments("loadCache");
    const saved = call.bytes("bytes", bytes, "`cache.save()` gives one.");
    const load = async () => new KvCache(this.#context, await this.#engine.loadCache(call.operation, saved));
    return this.#run(call, load);
  }

  /**
   * A tensor of zeros inside the engine. Calls read it, or write it as `into`, without a copy.
   *
   * It lives until its `dispose()`, or until the instance is disposed; it counts against `maximumMemory`.
   *
   * @throws OutOfMemoryError if the engine's memory has no room.
   */
  allocate<D extends Dtype = "float32">(shape: readonly number[], dtype?: D): EngineTensor<D> {
    const call = this.#arguments("allocate");
    const chosen = argument(call, "dtype", dtype).oneOf("dtype", Object.keys(BYTES) as Dtype[], "float32");
    const extents = call.shape("tensor", shape);
    return this.#engine.allocate(call.operation, extents, chosen as D, (release) =>
      this.#release("tensor.dispose", release),
    );
  }

  /**
   * Computes once with zeros of this shape, so that the engine has compiled what it needs when the first real call comes.
   * With `location: "gpu"` it is the GPU that computes, also for an instance of backend `"auto"`.
   */
  async warmup(shape: WarmupShape, options: AttentionOptions = {}): Promise<void> {
    const call = this.#arguments("warmup", this.#engine.onGpu);
    const problem = warmupProblem(call, shape, options);
    await this.#run(call, () => runWarmup(this.#engine, problem), problem.signal);
  }

  /**
   * Records a call of scaledDotProductAttention into the caller's GPUCommandEncoder without submitting it. The results
   * are there once the caller has submitted. Kernels that are not compiled yet are compiled first: `warmup` with
   * `location: "gpu"` spares that.
   *
   * The commands need memory beside the results. It is given back when all results are disposed, or what is returned here,
   * at the latest when the instance is: submit before.
   *
   * @throws UnsupportedError by engines other than WebGPU.
   */
  async encode<const R extends Returns = NoReturns, Into extends FloatTensor | GpuFloats = FloatTensor>(
    commandEncoder: object,
    query: FloatTensorLike | GpuFloats,
    key: FloatTensorLike | GpuFloats,
    value: FloatTensorLike | GpuFloats,
    options: CallOptions<R, Into> & { readonly location?: "gpu" } = {},
  ): Promise<RecordedAttention<R, Into>> {
    const call = this.#arguments("encode", true);
    const engine = this.#engine;
    if (!engine.encode)
      throw new UnsupportedError(
        `encode: this instance computes with ${this.report.backend}, which records no GPU commands`,
      );
    const problem = attentionProblem(call, query, key, value, readOptions(call, options, OPTION_NAMES));
    const record = () => engine.encode!(commandEncoder, problem);
    return (await this.#run<unknown>(call, record, problem.signal)) as RecordedAttention<R, Into>;
  }

  /** With `profile`, the GPU time of each kernel of the latest call, in the order in which they ran. */
  get kernelTimes(): readonly KernelTime[] {
    return this.#engine.kernelTimes ?? [];
  }

  /**
   * Ends the engine and its threads and gives its memory back. A call in flight, calls that wait and later calls reject
   * with DisposedError; results handed out before stay valid, on the GPU only where the device is the caller's. A second
   * call does nothing.
   */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    dropped?.unregister(this);
    this.#engine.dispose();
  }

  /** @internal As `Placement` has it; `headwise/onnx` reads its inputs by it. */
  locate(...[operation, ...array]: Parameters<NonNullable<Placement["locate"]>>): number | undefined {
    this.#assertAlive(operation);
    return this.#engine.locate?.(operation, ...array);
  }

  /** The arguments of a call that is made now. */
  #arguments(operation: string, onGpu = false): CallArguments {
    this.#assertAlive(operation);
    return new CallArguments(operation, { onGpu, locate: (...array) => this.locate(...array) });
  }

  #run<T>(call: CallArguments, work: () => Eventually<T>, signal?: AbortSignal): Promise<T> {
    const { operation } = call;
    const assertAdmitted = this.#engine.admit?.(operation);
    const begin = () => {
      this.#assertAlive(operation);
      assertAdmitted?.();
      call.assertIntact();
      return work();
    };
    return this.#queue.run(begin, signal, this.#engine.abandons);
  }

  #release(operation: string, work: () => Eventually<void>): void {
    if (this.#disposed) return;
    this.#run(new CallArguments(operation), work).catch(() => undefined); // the instance was disposed meanwhile
  }

  #assertAlive(operation: string): void {
    if (this.#disposed)
      throw new DisposedError(`${operation}: the instance was disposed`, { hint: "createAttention makes a new one." });
  }
}
