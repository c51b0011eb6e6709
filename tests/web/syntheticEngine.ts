// Engines that compute nothing, on a clock of their own: what an AutoEngine is tested with.

import { jest } from "@jest/globals";

import type { AttentionProblem } from "../../web/src/attention/attentionProblem.js";
import type { AttentionResult } from "../../web/src/attention/attentionResult.js";
import type { BackwardProblem } from "../../web/src/attention/backwardProblem.js";
import { AutoEngine } from "../../web/src/auto/autoEngine.js";
import type { Store } from "../../web/src/auto/host.js";
import * as placed from "../../web/src/auto/placing.js";
import type { AdapterIdentity } from "../../web/src/auto/software.js";
import { appendedBytes, attendWork, attentionWork, forwardWork } from "../../web/src/auto/work.js";
import { DeviceLostError } from "../../web/src/base/errors.js";
import type { AppendProblem } from "../../web/src/cache/appendProblem.js";
import type { AttendProblem } from "../../web/src/cache/attendProblem.js";
import type { CacheForm, CacheProblem } from "../../web/src/cache/cacheProblem.js";
import type { EngineCache } from "../../web/src/cache/engineCache.js";
import type { Engine } from "../../web/src/engine/engine.js";
import type { GpuEngine } from "../../web/src/engine/gpuModule.js";
import { NO_CALIBRATION } from "../../web/src/engine/report.js";
import { Attention } from "../../web/src/instance/attention.js";
import { instanceHere } from "../../web/src/instance/instanceHere.js";
import type { LayerBackwardProblem } from "../../web/src/layer/backwardProblem.js";
import type { EngineLayer } from "../../web/src/layer/engineLayer.js";
import type { ForwardProblem } from "../../web/src/layer/forwardProblem.js";
import type { LayerProblem } from "../../web/src/layer/layerProblem.js";
import type { LinearBackwardProblem, LinearProblem } from "../../web/src/linear/linearProblem.js";
import type { Place } from "../../web/src/tensor/place.js";
import type { TypedTensor } from "../../web/src/tensor/tensor.js";
import { here } from "../../web/src/turn/late.js";
import { secondsOf, type SyntheticEngine } from "./syntheticDevice.js";

export class Clock {
  seconds = 0;
}

/** What a test can change while engines run. */
export interface Behaviour {
  readonly tilings: readonly string[];
  /** How much slower a tiling computes. */
  readonly slowdown: Readonly<Record<string, number>>;
  /** Whether a call gives wrong numbers. */
  wrong: (call: { readonly tiling: string; readonly method: Method; readonly rows: number }) => boolean;
  /** Called before each call on the GPU. It may throw. */
  before: (method: Method) => void;
}

export type Method =
  | "attention"
  | "attentionBackward"
  | "linear"
  | "linearBackward"
  | "attend"
  | "append"
  | "forward"
  | "backward"
  | "update"
  | "createCache"
  | "createLayer"
  | "loadCache";

type Shape = AttentionProblem["shape"];

interface SyntheticCache extends EngineCache {
  grow(tokens: number): void;
}

/** An engine that answers with numbers that follow from the shape, and takes the time that its device would. */
abstract class Synthetic implements Engine {
  abstract readonly places: Engine["places"];
  readonly placement: "wasm" | "webgpu";
  /** The methods that ran, with the numbers of query rows. */
  readonly ran: Method[] = [];
  /** The engines whose saved calls were released. */
  readonly released: Place[] = [];

  constructor(
    readonly clock: Clock,
    readonly numbers: SyntheticEngine,
    placement: "wasm" | "webgpu",
  ) {
    this.placement = placement;
  }

  protected abstract answer<T>(method: Method, rows: number, seconds: number, make: (off: number) => T): T | Promise<T>;

  attention(problem: AttentionProblem) {
    return this.#compute("attention", problem.shape, attentionWork(problem), problem.output.shape, problem);
  }

  attentionBackward({ shape: { queryLength }, query: { shape } }: BackwardProblem) {
    return this.answer("attentionBackward", queryLength, 0, (off) => ({ dQuery: filled(shape, off) }));
  }

  linear({ output: { shape } }: LinearProblem) {
    return this.answer("linear", 1, 0, (off) => filled(shape, off));
  }

  linearBackward({ weight: { shape } }: LinearBackwardProblem) {
    return this.answer("linearBackward", 1, 0, (off) => ({ dWeight: filled(shape, off) }));
  }

  merge(): never {
    throw new Error("not used");
  }

  createStep(): never {
    throw new Error("not used");
  }

  rotary(): never {
    throw new Error("not used");
  }

  allocate(): never {
    throw new Error("not used");
  }

  #compute(
    method: Method,
    shape: Shape,
    work: ReturnType<typeof attentionWork>,
    outputShape: readonly number[],
    problem: unknown,
  ) {
    const { numHeads: heads, queryLength: queries, keyLength: keys } = shape;
    const seconds = secondsOf(this.numbers, work, { heads, queries, keys });
    return this.answer(method, queries, seconds, (off) => resultOf(outputShape, off, problem));
  }

  createCache(problem: CacheProblem): EngineCache | Promise<EngineCache> {
    return this.answer("createCache", 0, 0, () =>
      this.#cache(
        problem,
        Array.from({ length: problem.batchSize }, () => 0),
      ),
    );
  }

  loadCache(_: string, bytes: Uint8Array): EngineCache | Promise<EngineCache> {
    const { form, appended } = JSON.parse(new TextDecoder().decode(bytes)) as { form: CacheForm; appended: number[] };
    const problem = { ...form, operation: "loadCache", rotary: undefined };
    const seconds = (appended[0]! * 8 * form.numKvHeads * form.headDim) / this.numbers.moves;
    return this.answer("loadCache", 0, seconds, () => this.#cache(problem, appended));
  }

  #cache(problem: CacheProblem, tokens: number[]): SyntheticCache {
    const form: CacheForm = { ...problem, rotary: problem.rotary !== undefined };
    let appended = [...tokens];
    // oxlint-disable-next-line typescript/no-this-alias -- the getters of the cache have a `this` of their own
    const engine = this;
    const grow = (gain: number) => (appended = appended.map((total) => total + gain));
    return {
      placement: this.placement,
      form,
      grow,
      get appended() {
        return appended;
      },
      get bytes() {
        return 4 * appended[0]! * form.numKvHeads * (form.headDim + form.valueDim);
      },
      append: (append: AppendProblem) =>
        engine.answer(
          "append",
          append.numTokens,
          appendedBytes(append) / engine.numbers.moves,
          () => void grow(append.numTokens),
        ),
      attend: (problem: AttendProblem) =>
        engine.#compute("attend", problem.shape, attendWork(problem, form), problem.output.shape, problem),
      step(append: AppendProblem, problem: AttendProblem) {
        const appended = this.append(append) as Promise<void> | undefined;
        return appended ? appended.then(() => this.attend(problem)) : this.attend(problem);
      },
      rewind: () => undefined,
      select: () => undefined,
      keep: () => undefined,
      fork: () => engine.#cache(problem, appended),
      slice: () => engine.#cache(problem, appended),
      save: () => new TextEncoder().encode(JSON.stringify({ form, appended })),
      release: () => undefined,
    };
  }

  createLayer(problem: LayerProblem): EngineLayer | Promise<EngineLayer> {
    const { inputDim, outputDim, numHeads, headDim } = problem.shape;
    const bytes = 4 * numHeads * headDim * (3 * inputDim + outputDim);
    const make = (): EngineLayer => ({
      placement: this.placement,
      bytes,
      forward: (forward: ForwardProblem) => {
        if (forward.cache && (forward.cache as SyntheticCache).placement !== this.placement)
          throw new Error("cache in another engine");
        const work = forwardWork(forward, problem.shape, bytes);
        const result = this.#compute("forward", forward.shape, work, forward.output.shape, forward);
        (forward.cache as SyntheticCache | undefined)?.grow(forward.contextLength);
        if (!forward.save) return result;
        const saved = { bytes, placement: this.placement, release: () => void this.released.push(this.placement) };
        return Promise.resolve(result).then((parts) => ({ ...parts, saved }));
      },
      backward: ({ saved, shapes }: LayerBackwardProblem) =>
        this.answer("backward", 0, 0, (off) => {
          if ((saved as { placement?: Place }).placement !== this.placement) throw new Error("saved in another engine");
          return { dInput: filled(shapes.dInput, off) };
        }),
      update: () => this.answer("update", 0, 0, () => undefined),
      release: () => undefined,
    });
    return this.answer("createLayer", 0, bytes / this.numbers.moves, make);
  }

  dispose(): void {}
}

/** Numbers that follow from the shapes of a call. `off`: how far they are from the right ones. */
function resultOf(shape: readonly number[], off: number, problem: unknown): AttentionResult {
  const { query, x } = problem as { query?: { data: Float32Array }; x?: { data: Float32Array } };
  return { output: filled(shape, (query ?? x)!.data[0]! / 2 + off) };
}

function filled(shape: readonly number[], value: number): TypedTensor<"float32"> {
  const length = shape.reduce((size, extent) => size * extent, 1);
  return { data: new Float32Array(length).fill(value), shape: [...shape], dtype: "float32" };
}

export class SyntheticWasm extends Synthetic {
  readonly places = ["wasm"] as const;

  constructor(clock: Clock, numbers: SyntheticEngine) {
    super(clock, numbers, "wasm");
  }

  protected answer<T>(method: Method, _: number, seconds: number, make: (off: number) => T): T {
    this.ran.push(method);
    this.clock.seconds += seconds;
    return make(0);
  }
}

export class SyntheticGpu extends Synthetic implements GpuEngine {
  readonly onGpu = true;
  readonly places = ["webgpu"] as const;
  readonly adapter;
  readonly tilings: readonly string[];
  tiling: string;
  /** Seconds of calls. */
  busy = 0;

  constructor(
    clock: Clock,
    numbers: SyntheticEngine,
    identity: AdapterIdentity,
    readonly behaviour: Behaviour,
  ) {
    super(clock, numbers, "webgpu");
    this.adapter = { ...identity, features: [], limits: {} };
    this.tilings = behaviour.tilings;
    this.tiling = this.tilings[0]!;
  }

  protected async answer<T>(method: Method, rows: number, seconds: number, make: (off: number) => T): Promise<T> {
    const { tiling } = this;
    this.ran.push(method);
    await Promise.resolve();
    this.behaviour.before(method);
    const slowed = seconds * (this.behaviour.slowdown[tiling] ?? 1);
    this.clock.seconds += slowed;
    this.busy += slowed;
    return make(this.behaviour.wrong({ tiling, method, rows }) ? 0.25 : 0);
  }

  readonly device = {};
  kernelSeconds = () => Promise.resolve(undefined);
  prepare = jest.fn<GpuEngine["prepare"]>();
  record = jest.fn<GpuEngine["record"]>();
  finish = jest.fn<GpuEngine["finish"]>();
  upload = jest.fn() as unknown as GpuEngine["upload"];
  uploadWeight = jest.fn<GpuEngine["uploadWeight"]>();
  download = jest.fn() as unknown as GpuEngine["download"];
}

export const REAL: AdapterIdentity = {
  vendor: "synthetic",
  architecture: "fast",
  device: "",
  description: "",
  fallback: false,
};

const GOOD: Behaviour = { tilings: ["standard"], slowdown: {}, wrong: () => false, before: () => undefined };

export const FAST: SyntheticEngine = { start: 5e-4, moves: 5e9, reads: 3e11, operations: 2e12, cores: 32 };
export const SLOW: SyntheticEngine = { start: 3e-3, moves: 1e9, reads: 1e10, operations: 5e9, cores: 8 };
/** A fast GPU behind 20 ms of way. */
export const FAR: SyntheticEngine = { ...FAST, start: 2e-2 };
/** A processor with so many threads. */
const cpuOf = (threads: number): SyntheticEngine => ({ ...CPU, operations: 1e10 * threads, cores: threads });
export const CPU: SyntheticEngine = { start: 2e-5, moves: 5e9, reads: 1e10, operations: 2e10, cores: 2 };

/** An instance with backend "auto" on synthetic engines. */
export function syntheticInstance(
  device: SyntheticEngine,
  behaviour: Partial<Behaviour> = {},
  {
    identity = REAL,
    store,
    threads = 2,
  }: { readonly identity?: AdapterIdentity | string; readonly store?: Store; readonly threads?: number } = {},
) {
  const clock = new Clock();
  const wasm = new SyntheticWasm(clock, cpuOf(threads));
  const named = typeof identity === "string" ? REAL : identity;
  const gpu = new SyntheticGpu(clock, device, named, { ...GOOD, ...behaviour });
  const open = jest.fn(() => Promise.resolve(gpu as GpuEngine));
  const host = {
    adapter: () => Promise.resolve(identity),
    idle: () => Promise.resolve(),
    seconds: () => clock.seconds,
    date: () => 1_000_000,
    store,
    identity: "0.0.0 relaxed 2",
  };
  const engine = new AutoEngine(wasm, open, true, { host, threads }, here(placed));
  const report = { version: "0", backend: "wasm", variant: "relaxed", threads, reasons: {} } as const;
  const hw = Attention.over({ engine, report: { ...report, calibration: NO_CALIBRATION } }, instanceHere);
  return { hw, engine, wasm, gpu, open, clock };
}

export const lostError = () => new DeviceLostError("test: the GPU device was lost");
