import { DeviceLostError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import type { Engine } from "../engine/engine.js";
import type { GpuEngine } from "../engine/gpuModule.js";
import type { CalibrationReport, CheckResult, EngineName, EngineSpeed, LiveReport } from "../engine/report.js";
import type { Eventually } from "../turn/context.js";
import { Queue } from "../turn/queue.js";
import { attentionKind } from "./attentionKind.js";
import { BoundedMap } from "./boundedMap.js";
import { Choice, type CallKey } from "./choice.js";
import { COARSEST_STEP } from "./clock.js";
import { difference } from "./compare.js";
import type { CalibrationHost } from "./host.js";
import type { Kind } from "./kind.js";
import { engineSpeed } from "./pace.js";
import { MAIN, MOST_TILINGS, race, raceProblem, type Outcome } from "./race.js";
import { readRecord, recordText, type CalibrationRecord } from "./record.js";
import { adapterName, isSoftware, type AdapterIdentity } from "./software.js";
import { HOPED_SPEED, loadOf, predict } from "./speed.js";
import type { Work } from "./work.js";

/** A call as the calibration sees it. */
export interface Candidate {
  readonly key: CallKey;
  readonly work: Work;
  readonly kind: Kind;
  /** Widths of the heads of queries and of values. */
  readonly widths: readonly [headDim: number, valueDim: number];
}

/**
 * The GPU is opened when a good one would have saved this many seconds so far. That is about what it takes to open it. A
 * processor of many threads is faster than most integrated GPUs, but the GPU beside it may be a large one.
 */
const ENOUGH_GAIN = 0.05;

/** A GPU that was lost this often is not used again. */
const MOST_LOSSES = 2;

/** A call on which the GPU has failed. */
export type Failed = Pick<Candidate, "key"> & Partial<Pick<Candidate, "work">>;

/** A call with half the work of one that has lost the GPU, or more, is not tried there. */
const SAME_CLASS = 2;

const MOST_LISTED_CHECKS = 64;
const MOST_KINDS = 256;

/** After so many timed calls, and every time that their number has doubled, the refined speeds are kept. */
const FIRST_KEPT = 32;

/** Why WebGPU computes nothing that lies in JavaScript, for the report. */
const WAITING = "no call so far was large enough to gain from a GPU";
const RUNNING = "the GPU is being opened, checked and measured in the background";

type State = CalibrationReport["state"];

/**
 * Finds out in the background whether the GPU computes rightly and how fast it is, and chooses an engine for each call.
 *
 * Background work runs in small steps, each when the thread is idle. A step on wasm runs between two calls of the instance.
 */
export class Calibrator {
  readonly choice: Choice;
  readonly #wasm: Engine;
  readonly #host: CalibrationHost;
  readonly #inTurn: <T>(work: () => Eventually<T>) => Promise<T>;
  readonly #onChange: () => void;
  /** Calls on the GPU, of the instance and of the calibration, run one at a time. */
  readonly #gpuQueue = new Queue();
  #jobs: Promise<void> = Promise.resolve();
  #gpu: GpuEngine | undefined;
  #state: State = "waiting";
  #reason: string | undefined = WAITING;
  #gained = 0;
  #losses = 0;
  /** By kind: the tiling that passed the check; undefined while it is not known; false if none passed. */
  #tilings = new BoundedMap<string, string | false | undefined>(MOST_KINDS);
  /** Kinds whose check was asked for. */
  #asked = new BoundedMap<string, true>(MOST_KINDS);
  /** Calls that the GPU has failed to compute. */
  readonly #failed = new BoundedMap<string, true>(MOST_KINDS);
  #order: readonly string[] = [];
  #checks: CheckResult[] = [];
  #record: CalibrationRecord | undefined;
  #recordKey: string | undefined;
  #source: "fresh" | "storage" | undefined;
  readonly #calls: Record<EngineName, number> = { wasm: 0, webgpu: 0 };
  /** The step of the clock, in seconds. */
  #clockStep = 0;
  /** Calls with so many multiply-adds have lost the GPU. */
  #lostAt: number | undefined;
  #fallbacks: { readonly count: number; readonly latest?: string } = { count: 0 };
  #ended = false;

  /** @param inTurn - Runs work between two calls of the instance. */
  constructor(
    wasm: Engine,
    threads: number,
    host: CalibrationHost,
    inTurn: <T>(work: () => Eventually<T>) => Promise<T>,
    onChange: () => void = () => undefined,
  ) {
    this.#wasm = wasm;
    this.choice = new Choice(threads);
    this.#host = host;
    this.#inTurn = inTurn;
    this.#onChange = onChange;
  }

  /** The GPU, if calls may go to it. */
  get gpu(): GpuEngine | undefined {
    return this.#state === "ready" ? this.#gpu : undefined;
  }

  /** Settles when no background work is left. */
  get settled(): Promise<void> {
    return this.#jobs;
  }

  get state(): State {
    return this.#state;
  }

  /** The clock, in seconds. */
  seconds(): number {
    return this.#host.seconds();
  }

  /** The engine for a call whose tensors lie in JavaScript. */
  engineFor(candidate: Candidate): EngineName {
    const { key, work, kind } = candidate;
    this.demand(candidate);
    if (this.#state !== "ready" || this.#failed.get(key.call) || this.#losesGpu(work)) return "wasm";
    return this.choice.choose(key, work) === "webgpu" && this.isUsable(kind) ? "webgpu" : "wasm";
  }

  /** Notes that a call would gain from a GPU. When enough calls have, the calibration begins. */
  demand({ key, work, widths }: Candidate): void {
    if (this.#state !== "waiting") return;
    const gain = this.choice.predict("wasm", work, key) - predict(HOPED_SPEED, loadOf("webgpu", work));
    this.#gained += Math.max(0, gain);
    if (this.#gained >= ENOUGH_GAIN) this.#begin(widths);
  }

  /** Whether calls of a kind may go to the GPU. If that is not known, the kind is checked in the background. */
  isUsable(kind: Kind): boolean {
    if (this.#state !== "ready" || !this.#gpu) return false;
    const tiling = this.#tilings.get(kind.name);
    if (tiling === undefined && !this.#asked.get(kind.name)) {
      this.#asked.set(kind.name, true);
      this.#later(async () => void (await this.#check(kind, this.#order)));
    }
    return typeof tiling === "string";
  }

  /** The tiling for a kind, or for work of any kind. */
  tilingFor(gpu: GpuEngine, kind?: Kind): string {
    const checked = kind && this.#tilings.get(kind.name);
    return checked || (this.#record?.tiling ?? gpu.tilings[0]!);
  }

  /**
   * Runs work on a GPU, after all work there that was begun before.
   *
   * @param kind - What the work is. It runs with the tiling that passed the check of its kind.
   */
  onGpu<T>(gpu: GpuEngine, work: () => Eventually<T>, kind?: Kind): Promise<T> {
    return this.#gpuQueue.run(() => {
      gpu.tiling = this.tilingFor(gpu, kind);
      return work();
    });
  }

  /** Learns from a call that has run. */
  learn(engine: EngineName, { key, work }: Pick<Candidate, "key" | "work">, seconds: number): void {
    this.#calls[engine] += 1;
    this.choice.learn(engine, key, work, seconds, this.#clockStep);
    const learned = this.choice.calls("wasm") + this.choice.calls("webgpu");
    if (this.#state === "ready" && learned >= FIRST_KEPT && Number.isInteger(Math.log2(learned))) this.#keep();
  }

  /** The GPU could not compute a call, and wasm computes it. */
  fellBack({ key, work }: Failed, error: unknown): void {
    this.#fallbacks = { count: this.#fallbacks.count + 1, latest: thrownText(error) };
    if (DeviceLostError.is(error)) {
      if (work) this.#lostAt = Math.min(work.multiplyAdds, this.#lostAt ?? Infinity);
      this.#keep();
      this.#lost(error);
    } else this.#failed.set(key.call, true);
    this.#onChange();
  }

  end(): void {
    this.#ended = true;
  }

  get report(): Omit<LiveReport, "adapter"> {
    const record = this.#record;
    return {
      webgpuReason: this.#reason ?? this.#lossReason,
      calibration: {
        state: this.#state,
        ...(record && { measuredAt: record.measuredAt, tiling: record.tiling }),
        ...(this.#source && { source: this.#source }),
        engines: { wasm: this.#speedOf("wasm"), ...(record && { webgpu: this.#speedOf("webgpu") }) },
        race: record?.race ?? [],
        checks: [...this.#checks],
        calls: { ...this.#calls },
        fallbacks: this.#fallbacks,
      },
    };
  }

  /** Whether a call is as large as one that has lost the GPU. */
  #losesGpu(work: Work): boolean {
    return this.#lostAt !== undefined && work.multiplyAdds >= this.#lostAt / SAME_CLASS;
  }

  get #lossReason(): string | undefined {
    if (this.#lostAt === undefined) return undefined;
    const least = (this.#lostAt / SAME_CLASS).toPrecision(2);
    return `calls of ${Number(least)} multiply-adds and more stay on wasm: one of ${this.#lostAt} has lost the GPU`;
  }

  #speedOf(engine: EngineName): EngineSpeed {
    const basis = this.#source === undefined ? "assumed" : this.#source === "fresh" ? "measured" : "kept";
    return engineSpeed(this.choice.speed(engine), basis, this.choice.calls(engine));
  }

  #begin(widths: readonly [number, number]): void {
    this.#set("running", RUNNING);
    this.#later(() => this.#calibrate(...widths));
  }

  #set(state: State, reason: string | undefined): void {
    this.#state = state;
    this.#reason = reason;
    this.#onChange();
  }

  /** Runs background work after the background work before it. */
  #later(job: () => Promise<void>): void {
    const guarded = async () => {
      try {
        await this.#step();
        await job();
      } catch (error) {
        if (this.#ended) return;
        if (DeviceLostError.is(error)) this.#lost(error);
        else if (this.#state === "running") this.#set("without", thrownText(error));
      }
    };
    this.#jobs = this.#jobs.then(guarded);
  }

  /** Waits until the thread is idle. @throws Error if the instance has ended. */
  async #step(): Promise<void> {
    await this.#host.idle();
    if (this.#ended) throw new Error("the instance has ended");
  }

  #lost(error: unknown): void {
    if (this.#state === "without") return;
    this.#losses += 1;
    this.#tilings = new BoundedMap(MOST_KINDS);
    this.#asked = new BoundedMap(MOST_KINDS);
    this.#gained = 0;
    if (this.#losses >= MOST_LOSSES)
      this.#set("without", `the GPU was lost ${this.#losses} times: ${thrownText(error)}`);
    else this.#set("waiting", `${WAITING} since the GPU was lost: ${thrownText(error)}`);
  }

  async #calibrate(headDim: number, valueDim: number): Promise<void> {
    const adapter = await this.#host.adapter();
    if (typeof adapter === "string") return this.#set("without", adapter);
    if (isSoftware(adapter))
      return this.#set("without", `the adapter computes on the CPU (${adapterName(adapter)}), where wasm is faster`);
    await this.#step();
    this.#clockStep = this.#host.clockStep?.() ?? 0;
    if (this.#clockStep > COARSEST_STEP)
      return this.#set(
        "without",
        "the clock of this page is too coarse to measure the GPU: its steps are longer than 5 ms",
      );
    const gpu = (this.#gpu = await this.#host.open());
    const kept = await this.#keptRecord(adapter, gpu.tilings);
    const plain = attentionKind(raceProblem(MAIN, headDim, valueDim));
    if (kept && (await this.#check(plain, [kept.tiling]))) return this.#ready(kept, "storage", gpu.tilings);
    const right = await this.#rightTilings(plain, gpu.tilings);
    if (right.length === 0)
      return this.#set("without", `WebGPU computes wrongly on this device: ${this.#checks.at(-1)?.failure ?? ""}`);
    const outcome = await this.#race(gpu, right, headDim, valueDim);
    const record = { measuredAt: this.#host.date(), ...outcome };
    this.#tilings.set(plain.name, record.tiling);
    this.#ready(record, "fresh", gpu.tilings);
    this.#keep();
  }

  /** Keeps what is known for the next visit. If that is refused, the next visit measures again. */
  #keep(): void {
    if (!this.#record || this.#recordKey === undefined) return;
    const speeds = { wasm: this.choice.speed("wasm"), webgpu: this.choice.speed("webgpu") };
    this.#host.store
      ?.write(
        this.#recordKey,
        recordText({ ...this.#record, ...speeds, ...(this.#lostAt !== undefined && { lostAt: this.#lostAt }) }),
      )
      .catch(() => undefined);
  }

  #ready(record: CalibrationRecord, source: "fresh" | "storage", tilings: readonly string[]): void {
    this.#record = record;
    this.#source = source;
    this.#lostAt ??= record.lostAt;
    this.#order = [record.tiling, ...tilings.filter((name) => name !== record.tiling)].slice(0, MOST_TILINGS);
    for (const engine of ["wasm", "webgpu"] as const) this.choice.setSpeed(engine, record[engine]);
    this.#set("ready", undefined);
  }

  async #keptRecord(
    { vendor, architecture, device, description, traits = "" }: AdapterIdentity,
    tilings: readonly string[],
  ): Promise<CalibrationRecord | undefined> {
    const key = (this.#recordKey = [
      vendor,
      architecture,
      device,
      description,
      ...(traits ? [traits] : []),
      this.#host.identity,
    ].join("|"));
    const text = await this.#host.store?.read(key).catch(() => undefined);
    const assumed = { wasm: this.choice.assumed("wasm"), webgpu: this.choice.assumed("webgpu") };
    return readRecord(text, this.#host.date(), tilings, assumed);
  }

  /** The first tilings that compute a kind rightly. */
  async #rightTilings(kind: Kind, tilings: readonly string[]): Promise<string[]> {
    const right: string[] = [];
    for (const tiling of tilings) {
      if (right.length === MOST_TILINGS) break;
      if (await this.#passes(kind, tiling)) right.push(tiling);
    }
    return right;
  }

  /** Finds the first of these tilings that computes a kind rightly. Returns whether there is one. */
  async #check(kind: Kind, tilings: readonly string[]): Promise<boolean> {
    let right: string | false = false;
    for (const tiling of tilings) if (!right && (await this.#passes(kind, tiling))) right = tiling;
    this.#tilings.set(kind.name, right);
    this.#onChange();
    return right !== false;
  }

  /** Whether a tiling computes a kind as wasm does. */
  async #passes(kind: Kind, tiling: string): Promise<boolean> {
    const known = this.#checks.find((check) => check.kind === kind.name && check.tiling === tiling);
    if (known?.failure !== undefined) return false;
    const failure = await this.#failureOf(kind, tiling);
    const others = this.#checks.filter((check) => check !== known).slice(1 - MOST_LISTED_CHECKS);
    this.#checks = [...others, { kind: kind.name, tiling, ...(failure !== undefined && { failure }) }];
    return failure === undefined;
  }

  async #failureOf(kind: Kind, tiling: string): Promise<string | undefined> {
    await this.#step();
    const expected = await this.#inTurn(() => kind.sample(this.#wasm));
    await this.#step();
    try {
      const results = await this.#onTiling(tiling, (gpu) => kind.sample(gpu));
      return difference(results, expected, kind.tolerance);
    } catch (error) {
      if (this.#ended || DeviceLostError.is(error)) throw error;
      return thrownText(error);
    }
  }

  #onTiling<T>(tiling: string, work: (gpu: GpuEngine) => Eventually<T>): Promise<T> {
    return this.#gpuQueue.run(() => {
      this.#gpu!.tiling = tiling;
      return work(this.#gpu!);
    });
  }

  /** Times the tilings, and wasm. */
  #race(gpu: GpuEngine, tilings: readonly string[], headDim: number, valueDim: number): Promise<Outcome> {
    return race({
      tilings,
      headDim,
      valueDim,
      step: this.#clockStep,
      around: { wasm: this.choice.speed("wasm"), webgpu: this.choice.assumed("webgpu") },
      prepare: async (tiling, problem) => {
        await this.#step();
        await this.#onTiling(tiling, () => gpu.prepare(problem));
      },
      gpu: async (tiling, problem) => {
        await this.#step();
        return this.#onTiling(tiling, () => this.#timed(() => gpu.attention(problem)));
      },
      kernels: async (tiling, problem) => {
        await this.#step();
        return this.#onTiling(tiling, () => gpu.kernelSeconds(async () => gpu.attention(problem)));
      },
      wasm: async (problem) => {
        await this.#step();
        return this.#inTurn(() => this.#timed(() => this.#wasm.attention(problem)));
      },
    });
  }

  /** The seconds that a call takes. A coarse clock may say 0. */
  async #timed(work: () => Eventually<unknown>): Promise<number> {
    const begin = this.#host.seconds();
    await work();
    const seconds = this.#host.seconds() - begin;
    return this.#clockStep > 0 ? seconds : Math.max(seconds, 1e-6);
  }
}
