import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionResult, FloatResult, PlacedOutput, PlacedResult } from "../attention/attentionResult.js";
import type { BackwardProblem, PlacedGradients } from "../attention/backwardProblem.js";
import type { MergeProblem, MergeResult, PlacedMerge } from "../attention/mergeProblem.js";
import { DisposedError, OutOfMemoryError, UnsupportedError } from "../base/errors.js";
import { assertIntact } from "../base/intact.js";
import type { AppendProblem } from "../cache/appendProblem.js";
import type { AttendProblem } from "../cache/attendProblem.js";
import type { CacheForm, CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { KeptTokens } from "../cache/keptTokens.js";
import type { Engine } from "../engine/engine.js";
import { EngineTensor, type NewTensor } from "../engine/engineTensor.js";
import type { KernelTime, LiveReport, Report } from "../engine/report.js";
import type { LayerBackwardProblem, LayerUpdate, PlacedLayerGradients } from "../layer/backwardProblem.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { EngineSaved } from "../layer/engineSaved.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { LinearBackwardProblem, LinearProblem, PlacedLinearGradients } from "../linear/linearProblem.js";
import type { LoadProgress } from "../load/host.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { OutputForm } from "../read/outputForm.js";
import { UNWATCHED } from "../read/watched.js";
import { withTensors, type EngineStep, type StepArray, type StepPart, type StepProblem } from "../step/stepProblem.js";
import type { Place, PlaceChoice } from "../tensor/place.js";
import {
  ARRAYS,
  asHalves,
  BYTES,
  copyBits,
  elementCount,
  inMemory,
  type Dtype,
  type PlacedTensor,
  type TensorDataOf,
  type TypedTensor,
} from "../tensor/tensor.js";
import type { Recorded } from "../turn/context.js";
import type { Spawn } from "./channel.js";
import { Connection, type Done, type Known } from "./connection.js";
import { ENGINE, type EngineOptions, type Method } from "./protocol.js";
import { isShared, mayShare } from "./shipment.js";

/**
 * An engine in a worker. Problems are checked in this thread and computed in the worker.
 *
 * If the worker ends, its caches and layers are lost. The next call of the instance starts a new worker. If that fails,
 * the call rejects with the reason, and the call after it tries again.
 */
export class WorkerEngine implements Engine {
  readonly abandons = true;
  readonly places: readonly Place[];
  readonly #spawn: Spawn;
  readonly #options: EngineOptions;
  #connection: Connection;
  #disposed = false;

  private constructor(spawn: Spawn, options: EngineOptions, connection: Connection) {
    this.#spawn = spawn;
    this.#options = options;
    this.#connection = connection;
    this.places = options.backend === "auto" ? ["wasm", "webgpu"] : [options.backend];
  }

  static open(
    operation: string,
    spawn: Spawn,
    options: EngineOptions,
    onProgress: ((progress: LoadProgress) => void) | undefined,
  ): { readonly opened: Promise<{ engine: WorkerEngine; report: Report }>; readonly close: () => void } {
    let connection!: Connection;
    const connect = () => (connection = new Connection(spawn, onProgress));
    const opened = openedBy(connect, operation, options).then((report) => ({
      engine: new WorkerEngine(spawn, options, connection),
      report,
    }));
    const close = () => connection.end((now) => new DisposedError(`${now}: loading was given up`));
    return { opened, close };
  }

  get hasGpu(): boolean | undefined {
    return this.#connection.hasGpu;
  }

  get kernelTimes(): readonly KernelTime[] {
    return this.#connection.kernelTimes;
  }

  get live(): LiveReport | undefined {
    return this.#connection.live;
  }

  admit(operation: string): () => void {
    const connection = this.#connection;
    return connection.isOpen ? () => connection.assertAlive(operation) : () => undefined;
  }

  record(_: object, { operation }: AttentionProblem): Recorded<never> {
    throw new UnsupportedError(`${operation}: a GPUCommandEncoder cannot be sent to the engine's worker`, {
      hint: "headwise and headwise/webgpu record GPU commands.",
    });
  }

  async attention(problem: AttentionProblem): Promise<PlacedResult> {
    const { result } = await this.#call(problem.operation, "attention", sent(problem));
    return received(problem, result as AttentionResult);
  }

  async attentionBackward({ derivatives, ...problem }: BackwardProblem): Promise<PlacedGradients> {
    const hasDerivatives = derivatives && { derivatives: true }; // the worker differentiates the formula itself
    const sentProblem = { ...problem, ...hasDerivatives, ...UNWATCHED };
    const { result } = await this.#call(problem.operation, "attentionBackward", sentProblem);
    return result as PlacedGradients;
  }

  async linear(problem: LinearProblem): Promise<PlacedOutput> {
    const { result } = await this.#call(problem.operation, "linear", sent(problem));
    return deliver(problem.operation, problem.output, (result as FloatResult).data, problem.signal);
  }

  async linearBackward(problem: LinearBackwardProblem): Promise<PlacedLinearGradients> {
    const { result } = await this.#call(problem.operation, "linearBackward", { ...problem, signal: undefined });
    return result as PlacedLinearGradients;
  }

  async merge(problem: MergeProblem): Promise<PlacedMerge> {
    const { result } = await this.#call(problem.operation, "merge", sent(problem));
    const { output, lse } = result as MergeResult;
    return { output: deliver(problem.operation, problem.output, output.data, problem.signal), lse };
  }

  async rotary(problem: RotaryProblem): Promise<PlacedOutput> {
    const { result } = await this.#call(problem.operation, "rotary", sent(problem));
    return deliver(problem.operation, problem.output, (result as FloatResult).data, problem.signal);
  }

  async createCache({ signal, ...problem }: CacheProblem): Promise<EngineCache> {
    const { made } = await this.#call(problem.operation, "createCache", problem);
    return awaited(new RemoteCache(this.#connection, made!), signal);
  }

  async loadCache(
    operation: string,
    bytes: Uint8Array,
    placement?: PlaceChoice,
    signal?: AbortSignal,
  ): Promise<EngineCache> {
    const { made } = await this.#call(operation, "loadCache", operation, bytes, placement);
    return awaited(new RemoteCache(this.#connection, made!), signal);
  }

  async createLayer({ signal, ...problem }: LayerProblem): Promise<EngineLayer> {
    const { made } = await this.#call(problem.operation, "createLayer", problem);
    return awaited(new RemoteLayer(this.#connection, made!), signal);
  }

  async createStep({ signal, ...problem }: StepProblem): Promise<EngineStep> {
    const parts = problem.parts.map((part) => sentPart(problem.operation, withTensors(part, sentTensor)));
    const outputs = problem.outputs.map((output) => ({
      ...output,
      x: { ...output.x, tensor: sentTensor<PlacedTensor>(output.x.tensor) },
    }));
    const { made } = await this.#call(problem.operation, "createStep", {
      ...problem,
      parts,
      inputs: problem.inputs.map(sentTensor),
      outputs,
    });
    return awaited(new RemoteStep(this.#connection, made!), signal);
  }

  allocate<D extends Dtype>(operation: string, { shape, dtype }: NewTensor<D>): EngineTensor<D> {
    if (!mayShare())
      throw new UnsupportedError(
        `${operation}: memory cannot be shared with the engine's worker: the page is not cross-origin isolated`,
        { hint: "Pass ordinary arrays: they are copied once and handed over." },
      );
    const data = sharedArray(operation, dtype, elementCount(operation, "tensor", shape));
    return new EngineTensor(
      () => data,
      [...shape],
      dtype,
      () => undefined,
    );
  }

  dispose(): void {
    this.#disposed = true;
    this.#connection.end(
      (operation) => new DisposedError(`${operation}: the instance was disposed while the call ran`),
    );
  }

  async #call(operation: string, method: Method, ...args: readonly unknown[]): Promise<Done> {
    if (this.#connection.ended && !this.#disposed) {
      const connect = () => (this.#connection = new Connection(this.#spawn, undefined));
      await openedBy(connect, operation, this.#options);
    }
    return this.#connection.call(operation, ENGINE, method, ...args);
  }
}

/** If the worker stops while it opens the engine, another one is started, up to this number. */
const MOST_WORKERS = 3;

/** Opens an engine in the worker that `connect` starts. */
async function openedBy(connect: () => Connection, operation: string, options: EngineOptions): Promise<Report> {
  for (let started = 1; ; ++started) {
    const connection = connect();
    try {
      return await connection.open(operation, options);
    } catch (error) {
      if (!connection.hasStopped || started === MOST_WORKERS) throw error;
    }
  }
}

/** An object in the worker. */
abstract class RemoteObject {
  readonly #connection: Connection;
  /** Its number in the worker. */
  readonly object: number;
  readonly #known: Known;
  #release: Promise<void> | undefined;

  constructor(connection: Connection, object: number) {
    this.#connection = connection;
    this.object = object;
    this.#known = connection.known(object);
  }

  get bytes(): number {
    return this.state.bytes;
  }

  get placement(): Place {
    return this.state.placement!;
  }

  protected get state() {
    return this.#known.state;
  }

  protected call(operation: string, method: Method, ...args: readonly unknown[]): Promise<Done> {
    return this.#connection.call(operation, this.object, method, ...args);
  }

  /**
   * Its number, for a call of the engine or of another object.
   *
   * @throws DisposedError if its worker has ended: in the next worker the number is that of another object.
   */
  numberFor(operation: string): number {
    this.#connection.assertAlive(operation);
    return this.object;
  }

  /** The object in this thread for a cache that a call has made in the worker. */
  protected cache({ made }: Done): EngineCache {
    return new RemoteCache(this.#connection, made!);
  }

  /** The object in this thread for what a call of a layer has saved in the worker. */
  protected saved(object: number): RemoteSaved {
    return new RemoteSaved(this.#connection, object);
  }

  /** An aborted call releases what it has made. Its owner, which does not know that, may do so again. */
  release(): Promise<void> {
    return (this.#release ??= this.#connection.release(this.object));
  }
}

/** What a call has made. It is released if the signal has aborted: the caller then no longer waits for it. */
async function awaited<T extends RemoteObject>(made: T, signal: AbortSignal | undefined): Promise<T> {
  if (signal?.aborted) await made.release();
  return made;
}

class RemoteCache extends RemoteObject implements EngineCache {
  get form(): CacheForm {
    return this.state.form!;
  }

  get appended(): readonly number[] {
    return this.state.appended!;
  }

  async append(problem: AppendProblem): Promise<void> {
    await this.call(problem.operation, "append", { ...problem, signal: undefined });
  }

  async attend(problem: AttendProblem): Promise<PlacedResult> {
    const { result } = await this.call(problem.operation, "attend", sent(problem));
    return received(problem, result as AttentionResult);
  }

  async step(append: AppendProblem, attend: AttendProblem): Promise<PlacedResult> {
    const tokens = { ...append, signal: undefined };
    const { result } = await this.call(attend.operation, "step", tokens, sent(attend));
    return received({ ...attend, signal: undefined }, result as AttentionResult);
  }

  async rewind(operation: string, lengths: Int32Array): Promise<void> {
    await this.call(operation, "rewind", operation, lengths);
  }

  async select(operation: string, indices: Int32Array): Promise<void> {
    await this.call(operation, "select", operation, indices);
  }

  async keep(operation: string, tokens: KeptTokens): Promise<void> {
    await this.call(operation, "keep", operation, tokens);
  }

  async fork(operation: string): Promise<EngineCache> {
    return this.cache(await this.call(operation, "fork", operation));
  }

  async slice(operation: string, from: number, to: number): Promise<EngineCache> {
    return this.cache(await this.call(operation, "slice", operation, from, to));
  }

  async save(operation: string): Promise<Uint8Array> {
    const { result } = await this.call(operation, "save", operation);
    return result as Uint8Array;
  }
}

class RemoteLayer extends RemoteObject implements EngineLayer {
  async forward(problem: ForwardProblem): Promise<PlacedResult & { readonly saved?: EngineSaved }> {
    const { operation, signal } = problem;
    const cache = (problem.cache as RemoteCache | undefined)?.numberFor(operation);
    const done = await this.call(operation, "forward", { ...sent(problem), cache });
    const result = received(cache ? { ...problem, signal: undefined } : problem, done.result as AttentionResult);
    if (done.made === undefined) return result;
    return { ...result, saved: await awaited(this.saved(done.made), signal) };
  }

  /** The gradients are added to earlier ones in this thread, where those lie. */
  async backward({ accumulate, signal, ...problem }: LayerBackwardProblem): Promise<PlacedLayerGradients> {
    const saved = (problem.saved as RemoteSaved).object;
    const { result } = await this.call(problem.operation, "backward", { ...problem, saved });
    const gradients = result as PlacedLayerGradients;
    if (!accumulate || signal?.aborted) return gradients;
    const sums = Object.entries(accumulate);
    for (const [name, sum] of sums) assertIntact(problem.operation, `accumulate.${name}`, sum.data);
    for (const [name, sum] of sums) {
      const more = (gradients.gradients![name] as TypedTensor<"float32">).data;
      for (let n = 0; n < more.length; ++n) sum.data[n]! += more[n]!;
    }
    return { ...gradients, gradients: accumulate };
  }

  async update({ signal: _, ...update }: LayerUpdate): Promise<void> {
    await this.call(update.operation, "update", update);
  }
}

class RemoteSaved extends RemoteObject implements EngineSaved {}

class RemoteStep extends RemoteObject implements EngineStep {
  async run(operation: string, inputs: readonly StepArray[]): Promise<readonly StepArray[]> {
    const { result } = await this.call(operation, "run", operation, inputs);
    return result as readonly StepArray[];
  }
}

/** A tensor of a step. Of one in the step's memory only the place is sent. */
function sentTensor<T extends PlacedTensor>(tensor: T): T {
  return tensor.address === undefined ? tensor : { ...tensor, data: undefined };
}

/** A part with the numbers of the worker's objects in place of those of this thread. */
function sentPart(operation: string, part: StepPart): object {
  if (part.kind === "attention") return { ...part, problem: { ...part.problem, keepRank: undefined, ...UNWATCHED } };
  if (part.kind !== "layer") return part;
  const { layer, problem } = part;
  const cache = (problem.cache as RemoteCache | undefined)?.numberFor(operation);
  return { ...part, layer: (layer as RemoteLayer).numberFor(operation), problem: { ...problem, cache, ...UNWATCHED } };
}

/** A problem as it is sent. `into` is sent only if it lies in shared memory. */
function sent<P extends { readonly output: OutputForm; readonly signal?: AbortSignal | undefined }>(problem: P) {
  const { shape, dtype, into } = problem.output;
  const place = into && inMemory(into.place);
  const shared = place && isShared(place.data) ? { place, tensor: { data: place.data, shape, dtype } } : undefined;
  return { ...problem, ...UNWATCHED, output: { shape, dtype, half: false, into: shared } };
}

/** Gives a result the form that the caller wants: the inputs' rank, and the output in `into` or with its dtype. */
function received(
  { operation, output, keepRank, signal }: Pick<AttentionProblem, "operation" | "output" | "keepRank" | "signal">,
  result: AttentionResult,
): PlacedResult {
  const inRank = <T extends TypedTensor>(tensor: T): T => ({ ...tensor, shape: keepRank(tensor.shape) });
  const parts = Object.entries(result).map(([name, part]: [string, unknown]): [string, unknown] => {
    if (name === "output") return [name, deliver(operation, output, (part as FloatResult).data, signal)];
    if (name !== "topK") return [name, inRank(part as TypedTensor)];
    const { values, indices } = part as NonNullable<AttentionResult["topK"]>;
    return [name, { values: inRank(values), indices: inRank(indices) }];
  });
  return Object.fromEntries(parts) as unknown as PlacedResult;
}

/** Gives an output to the caller. If the caller has aborted the call, `into` is not written. */
function deliver(
  operation: string,
  { shape, dtype, half, into }: OutputForm,
  data: FloatResult["data"],
  signal: AbortSignal | undefined,
): PlacedOutput {
  if (!into) return { data: half ? asHalves(data as Uint16Array) : data, shape: [...shape], dtype };
  const place = inMemory(into.place);
  if (!isShared(place.data) && !signal?.aborted) {
    assertIntact(operation, "into", place.data);
    copyBits(data, place.data);
  }
  return into.tensor;
}

function sharedArray<D extends Dtype>(operation: string, dtype: D, length: number): TensorDataOf[D] {
  const bytes = length * BYTES[dtype];
  try {
    const ArrayOf = ARRAYS[dtype] as unknown as new (memory: SharedArrayBuffer) => TensorDataOf[D];
    return new ArrayOf(new SharedArrayBuffer(bytes));
  } catch (cause) {
    throw new OutOfMemoryError(`${operation}: an array of ${bytes} bytes does not fit memory`, { cause });
  }
}
