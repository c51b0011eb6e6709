import type { Returns } from "./attentionOptions.js";
import {
  attentionProblem,
  type AttentionOptions,
  type AttentionProblem,
  type FloatTensor,
} from "./attentionProblem.js";
import type {
  AttentionResult,
  Backend,
  Eventually,
  GpuAttentionResult,
  KernelTime,
  Opened,
  OutputOf,
  RecordedAttention,
  Report,
  ResultOf,
} from "./backend.js";
import type { KvCache, KvCacheOptions } from "./cache.js";
import { Disposing } from "./disposable.js";
import { DisposedError } from "./errors.js";
import type { GpuFloats, GpuTensor } from "./gpuData.js";
import type { Late } from "./late.js";
import type { Layer } from "./layer.js";
import type { LayerOptions } from "./layerProblem.js";
import type { AttentionPart, MergeOptions, MergeResult } from "./merge.js";
import { noteForMerge } from "./mergeNotes.js";
import type * as allOperations from "./operations.js";
import { argument, signalOf } from "./options.js";
import { beforeAbort, Queue } from "./queue.js";
import type { RotaryOptions } from "./rotary.js";
import { BYTES, type Dtype } from "./tensor.js";
import type { WarmupShape } from "./warmup.js";
import type { EngineTensor } from "./wasm/heap.js";

type Operations = typeof allOperations;

/** Options whose tensors may lie on the GPU too. */
type OnGpu<O> = {
  readonly [Name in keyof O]: Name extends "mask" | "bias" | "into" ? O[Name] | GpuTensor : O[Name];
};

/** What an object made by an instance (a layer, a cache) needs of it. */
export interface Context {
  readonly backend: Backend;
  readonly report: Report;
  /** Throws DisposedError once the instance is disposed. */
  assertAlive(operation: string): void;
  /** Runs `work` when its turn comes: at once if no call is pending. */
  run<T>(operation: string, work: () => Eventually<T>, signal?: AbortSignal): Promise<T>;
}

/** A net under instances that are dropped without dispose(). It may run late or never: dispose what you make. */
const dropped = /* @__PURE__ */ new FinalizationRegistry<Backend>((backend) => backend.dispose());

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
  readonly #operations: Late<Operations>;
  readonly #queue = new Queue(this);
  readonly #context: Context;
  #disposed = false;

  /** @internal */
  constructor({ backend, report }: Opened, operations: Late<Operations>) {
    super();
    this.report = report;
    this.#backend = backend;
    this.#operations = operations;
    this.#context = {
      backend,
      report,
      assertAlive: (operation) => this.#assertAlive(operation),
      run: (operation, work, signal) => this.#run(operation, work, signal),
    };
    backend.instance = new WeakRef(this);
    dropped.register(this, backend, this);
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
    const { onGpu } = this.#backend;
    const compute = (problem: AttentionProblem) => async () => {
      const result = await this.#backend.attention(problem);
      noteForMerge(result, problem.settings);
      return result;
    };
    if (options?.cuSeqLensQuery !== undefined || options?.cuSeqLensKey !== undefined)
      return this.#further(operation, options, ({ readRagged }) =>
        compute(attentionProblem(operation, query, key, value, options, onGpu, readRagged)),
      );
    const problem = attentionProblem(operation, query, key, value, options, onGpu);
    return this.#run(operation, compute(problem), problem.signal);
  }

  /**
   * Unites results over disjoint sets of keys into the result over all of them: the seam along which long sequences
   * split. With lse the logarithm of the parts' summed exponentials and of the sinks, output = Σ exp(lse_p − lse) · output_p.
   *
   * @param parts - Results with lse over the same queries, computed without sinks and with `emptyRows: "zero"`.
   * @throws ShapeError if the parts differ in shape; OptionError if one was computed with sinks or another policy.
   */
  async mergeAttention(parts: readonly AttentionPart[], options: MergeOptions = {}): Promise<MergeResult> {
    return this.#further("mergeAttention", options, (operations) =>
      operations.mergeAttention(this.#context, parts, options),
    );
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
    const turned = await this.#further("rotaryEmbedding", options, (operations) =>
      operations.rotaryEmbedding(this.#context, x, options),
    );
    return turned as OutputOf<Into>;
  }

  /**
   * A layer: projections of its input to queries, keys and values, attention of every head, and the output projection.
   * The weights are copied.
   *
   * @throws ShapeError, OptionError, UnsupportedError before any work; OutOfMemoryError; DisposedError.
   */
  async multiHeadAttention(options: LayerOptions): Promise<Layer> {
    return this.#further("multiHeadAttention", options, (operations) =>
      operations.multiHeadAttention(this.#context, options),
    );
  }

  /**
   * An empty cache of keys and values, for decoding token by token: `append` what was projected, then `attend`.
   *
   * @throws OptionError, ShapeError; OutOfMemoryError; DisposedError.
   */
  async kvCache(options: KvCacheOptions): Promise<KvCache> {
    return this.#further("kvCache", {}, (operations) => operations.kvCache(this.#context, options));
  }

  /**
   * The cache that `cache.save()` made these bytes of. Nothing is built of bytes that are damaged or foreign.
   *
   * @throws OptionError with code `"CORRUPT_DATA"` for such bytes; OutOfMemoryError; DisposedError.
   */
  async loadCache(bytes: Uint8Array): Promise<KvCache> {
    return this.#further("loadCache", {}, (operations) => operations.loadCache(this.#context, bytes));
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
   * With `location: "gpu"` it is the GPU that computes, also for an instance of backend `"auto"`.
   */
  async warmup(shape: WarmupShape, options: AttentionOptions = {}): Promise<void> {
    await this.#further("warmup", options, (operations) => operations.warmup(this.#context, shape, options));
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
  async encode(
    commandEncoder: object,
    query: FloatTensor | GpuFloats,
    key: FloatTensor | GpuFloats,
    value: FloatTensor | GpuFloats,
    options: OnGpu<AttentionOptions> = {},
  ): Promise<RecordedAttention> {
    return this.#further("encode", options, (operations) =>
      operations.encode(this.#context, commandEncoder, query, key, value, options),
    );
  }

  /** With `profile`, the GPU time of each kernel of the latest call, in the order in which they ran. */
  get kernelTimes(): readonly KernelTime[] {
    return this.#backend.kernelTimes ?? [];
  }

  /**
   * Ends the engine and its threads and gives its memory back. A call in flight, calls that wait and later calls reject
   * with DisposedError; results handed out before stay valid, on the GPU only where the device is the caller's. A second
   * call does nothing.
   */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    dropped.unregister(this);
    this.#backend.dispose();
  }

  /**
   * Runs an operation that may have to be loaded first. Its place in the queue is that of the call, and so is the time
   * of its checks if it is at hand.
   */
  #further<T>(
    operation: string,
    options: unknown,
    prepare: (operations: Operations) => () => Eventually<T>,
  ): Promise<T> {
    this.#assertAlive(operation);
    const signal = signalOf(operation, options);
    const { loaded } = this.#operations;
    const load = async () => {
      const loading = this.#operations.load(operation);
      return prepare(await (signal ? beforeAbort(loading, signal) : loading))();
    };
    return this.#run(operation, loaded ? prepare(loaded) : load, signal);
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
