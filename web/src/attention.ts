import type { Returns } from "./attentionOptions.js";
import { attentionProblem, OPTION_NAMES, type AttentionOptions, type FloatTensor } from "./attentionProblem.js";
import type {
  AttentionResult,
  Backend,
  Eventually,
  GpuAttentionResult,
  KernelTime,
  Opened,
  OutputOf,
  Report,
  ResultOf,
} from "./backend.js";
import { cacheProblem, checkBytes, KvCache, type KvCacheOptions } from "./cache.js";
import type { Context } from "./context.js";
import { Disposing } from "./disposable.js";
import { DisposedError, UnsupportedError } from "./errors.js";
import type { GpuFloats, GpuTensor } from "./gpuData.js";
import { Layer } from "./layer.js";
import { layerProblem, type LayerOptions } from "./layerProblem.js";
import { LAYOUTS } from "./layout.js";
import { mergeProblem, noteForMerge, type AttentionPart, type MergeOptions, type MergeResult } from "./merge.js";
import { argument, OptionReader } from "./options.js";
import { Queue } from "./queue.js";
import { rotaryProblem, type RotaryOptions } from "./rotary.js";
import { BYTES, type Dtype } from "./tensor.js";
import { warmupInputs, type WarmupShape } from "./warmup.js";
import type { EngineTensor } from "./wasm/heap.js";

/** Options whose tensors may lie on the GPU too. */
type OnGpu<O> = {
  readonly [Name in keyof O]: Name extends "mask" | "bias" | "into" ? O[Name] | GpuTensor : O[Name];
};

/**
 * A net under instances that are dropped without dispose(). It may run late or never: dispose what you make. Some engines
 * have no registry (Cloudflare Workers of before May 2025).
 */
const dropped =
  typeof FinalizationRegistry === "function"
    ? /* @__PURE__ */ new FinalizationRegistry<Backend>((backend) => backend.dispose())
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
  readonly #backend: Backend;
  readonly #queue = new Queue(this);
  readonly #context: Context;
  #disposed = false;

  /** @internal */
  constructor({ backend, report }: Opened) {
    super();
    this.report = report;
    this.#backend = backend;
    this.#context = {
      backend,
      report,
      assertAlive: (operation) => this.#assertAlive(operation),
      run: (operation, work, signal) => this.#run(operation, work, signal),
    };
    dropped?.register(this, backend, this);
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
  scaledDotProductAttention(
    query: FloatTensor | GpuFloats,
    key: FloatTensor | GpuFloats,
    value: FloatTensor | GpuFloats,
    options: OnGpu<AttentionOptions> & { readonly location: "gpu" },
  ): Promise<GpuAttentionResult>;
  scaledDotProductAttention<
    const R extends Returns = Returns,
    Q extends FloatTensor = FloatTensor,
    Into extends FloatTensor = Q,
  >(
    query: Q | GpuFloats,
    key: FloatTensor | GpuFloats,
    value: FloatTensor | GpuFloats,
    options?: OnGpu<Omit<AttentionOptions, "into">> & { readonly returns?: R; readonly into?: Into | GpuFloats },
  ): Promise<ResultOf<R, Into>>;
  async scaledDotProductAttention(
    query: FloatTensor | GpuFloats,
    key: FloatTensor | GpuFloats,
    value: FloatTensor | GpuFloats,
    options: OnGpu<AttentionOptions> = {},
  ): Promise<AttentionResult | GpuAttentionResult> {
    const operation = "scaledDotProductAttention";
    this.#assertAlive(operation);
    const problem = attentionProblem(operation, query, key, value, options, this.#backend.onGpu);
    const compute = async () => {
      const result = await this.#backend.attention(problem);
      noteForMerge(result, problem.settings);
      return result;
    };
    return this.#run(operation, compute, problem.signal);
  }

  /**
   * Unites results over disjoint sets of keys into the result over all of them: the seam along which long sequences
   * split. With lse the logarithm of the parts' summed exponentials and of the sinks, output = Σ exp(lse_p − lse) · output_p.
   *
   * @param parts - Results with lse over the same queries, computed without sinks and with `emptyRows: "zero"`.
   * @throws ShapeError if the parts differ in shape; OptionError if one was computed with sinks or another policy.
   */
  async mergeAttention(parts: readonly AttentionPart[], options: MergeOptions = {}): Promise<MergeResult> {
    const operation = "mergeAttention";
    this.#assertAlive(operation);
    const problem = mergeProblem(operation, parts, options);
    return this.#run(operation, () => this.#backend.merge(problem), problem.signal);
  }

  /**
   * Turns pairs of features by their token's position, so that the dot product of a query and a key depends on the
   * distance between them only (Su et al. 2021).
   *
   * @param x - Queries or keys, `[B, H, S, D]` in `options.layout`; float32 or float16.
   * @returns A tensor of x's shape and dtype. Angles are taken in double precision.
   */
  async rotaryEmbedding<X extends FloatTensor, Into extends FloatTensor = X>(
    x: X,
    options: RotaryOptions & { readonly into?: Into } = {},
  ): Promise<OutputOf<Into>> {
    const operation = "rotaryEmbedding";
    this.#assertAlive(operation);
    const problem = rotaryProblem(operation, x, options);
    return (await this.#run(operation, () => this.#backend.rotary(problem), problem.signal)) as OutputOf<Into>;
  }

  /**
   * A layer: projections of its input to queries, keys and values, attention of every head, and the output projection.
   * The weights are copied.
   *
   * @throws ShapeError, OptionError, UnsupportedError before any work; OutOfMemoryError; DisposedError.
   */
  async multiHeadAttention(options: LayerOptions): Promise<Layer> {
    const operation = "multiHeadAttention";
    this.#assertAlive(operation);
    const problem = layerProblem(operation, options);
    const make = async () => new Layer(this.#context, problem, await this.#backend.createLayer(problem));
    return this.#run(operation, make, problem.signal);
  }

  /**
   * An empty cache of keys and values, for decoding token by token: `append` what was projected, then `attend`.
   *
   * @throws OptionError, ShapeError; OutOfMemoryError; DisposedError.
   */
  async kvCache(options: KvCacheOptions): Promise<KvCache> {
    const operation = "kvCache";
    this.#assertAlive(operation);
    const problem = cacheProblem(operation, options);
    return this.#run(operation, async () => new KvCache(this.#context, await this.#backend.createCache(problem)));
  }

  /**
   * The cache that `cache.save()` made these bytes of. Nothing is built of bytes that are damaged or foreign.
   *
   * @throws OptionError with code `"CORRUPT_DATA"` for such bytes; OutOfMemoryError; DisposedError.
   */
  async loadCache(bytes: Uint8Array): Promise<KvCache> {
    const operation = "loadCache";
    this.#assertAlive(operation);
    const checked = checkBytes(operation, bytes);
    const load = async () => new KvCache(this.#context, await this.#backend.loadCache(operation, checked));
    return this.#run(operation, load);
  }

  /**
   * A tensor of zeros inside the engine. Calls read it, or write it as `into`, without a copy.
   *
   * It lives until its `dispose()`, or until the instance is disposed; it counts against `maximumMemory`.
   *
   * @throws OutOfMemoryError if the engine's memory has no room.
   */
  allocate<D extends Dtype = "float32">(shape: readonly number[], dtype?: D): EngineTensor<D> {
    const operation = "allocate";
    this.#assertAlive(operation);
    const chosen = argument(operation, "dtype", dtype).oneOf("dtype", Object.keys(BYTES) as Dtype[], "float32");
    return this.#backend.allocate(operation, shape, chosen as D);
  }

  /**
   * Computes once with zeros of this shape, so that the engine has compiled what it needs when the first real call comes.
   */
  async warmup(shape: WarmupShape, options: AttentionOptions = {}): Promise<void> {
    const operation = "warmup";
    this.#assertAlive(operation);
    const layout = new OptionReader(operation, "", options, OPTION_NAMES).oneOf("layout", LAYOUTS, "BHSD");
    const { query, key, value, heads } = warmupInputs(operation, shape, layout);
    const problem = attentionProblem(operation, query, key, value, { ...heads, ...options });
    await this.#run(operation, () => this.#backend.attention(problem), problem.signal);
  }

  /**
   * Records a call of scaledDotProductAttention into the caller's GPUCommandEncoder without submitting it. The results
   * are there once the caller has submitted. Kernels that are not compiled yet are compiled first: `warmup` spares that.
   *
   * @throws UnsupportedError by engines other than WebGPU.
   */
  async encode(
    commandEncoder: object,
    query: FloatTensor | GpuFloats,
    key: FloatTensor | GpuFloats,
    value: FloatTensor | GpuFloats,
    options: OnGpu<AttentionOptions> = {},
  ): Promise<GpuAttentionResult> {
    const operation = "encode";
    this.#assertAlive(operation);
    const backend = this.#backend;
    if (!backend.encode)
      throw new UnsupportedError(
        `${operation}: this instance computes with ${this.report.backend}, which records no GPU commands`,
      );
    const problem = attentionProblem(operation, query, key, value, options, true);
    return this.#run(operation, () => backend.encode!(commandEncoder, problem), problem.signal);
  }

  /** With `profile`, the GPU time of each kernel of the latest call, in the order in which they ran. */
  get kernelTimes(): readonly KernelTime[] {
    return this.#backend.kernelTimes ?? [];
  }

  /**
   * Ends the engine and its threads and gives its memory back. A call in flight, calls that wait and later calls reject
   * with DisposedError; results handed out before stay valid. A second call does nothing.
   */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    dropped?.unregister(this);
    this.#backend.dispose();
  }

  #run<T>(operation: string, work: () => Eventually<T>, signal?: AbortSignal): Promise<T> {
    const assertAdmitted = this.#backend.admit?.(operation);
    const begin = () => {
      this.#assertAlive(operation);
      assertAdmitted?.();
      return work();
    };
    return this.#queue.run(begin, signal, this.#backend.abandons);
  }

  #assertAlive(operation: string): void {
    if (this.#disposed)
      throw new DisposedError(`${operation}: the instance was disposed`, { hint: "createAttention makes a new one." });
  }
}
