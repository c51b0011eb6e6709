import type { PlacedResult } from "../attention/attentionResult.js";
import type { AppendProblem } from "../cache/appendProblem.js";
import type { AttendProblem } from "../cache/attendProblem.js";
import type { CacheForm, CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { KeptTokens } from "../cache/keptTokens.js";
import type { Place, PlaceChoice } from "../tensor/place.js";
import type { Eventually, Recorded } from "../turn/context.js";
import type { Candidate } from "./calibrator.js";
import type { Engines } from "./engines.js";
import { isGpuFailure } from "./failure.js";
import { mayMove } from "./mayMove.js";
import { attendCandidate } from "./placedCandidates.js";
import { Residence } from "./residence.js";
import { touchesGpu } from "./tensors.js";
import { moveWork } from "./work.js";

/**
 * A cache of an AutoEngine. It lies in one engine and moves to the other when its calls are predicted to gain more than
 * the move costs, when a call has tensors on the GPU, and when the GPU has no room for it.
 */
export class PlacedCache implements EngineCache {
  readonly #engines: Engines;
  readonly #choice: PlaceChoice;
  readonly #problem: CacheProblem;
  readonly #residence = new Residence();
  #cache: EngineCache;

  /** @param problem - What the cache was made of, or what is known of it. */
  constructor(engines: Engines, cache: EngineCache, problem: CacheProblem, choice: PlaceChoice) {
    this.#engines = engines;
    this.#cache = cache;
    this.#problem = problem;
    this.#choice = choice;
  }

  get placement(): Place {
    return this.#cache.placement;
  }

  /** Whether the caller left it open where the cache lies. */
  get movable(): boolean {
    return this.#choice === "auto";
  }

  /** The cache in wasm, which stays there. */
  fixed(operation: string): EngineCache {
    if (this.#choice === "wasm") return this.#cache;
    throw mayMove(operation, "cache");
  }

  /** The cache in its engine. */
  get inner(): EngineCache {
    return this.#cache;
  }

  get onGpu(): boolean {
    return this.movable || this.placement === "webgpu";
  }

  get form(): CacheForm {
    return this.#cache.form;
  }

  get appended(): readonly number[] {
    return this.#cache.appended;
  }

  get bytes(): number {
    return this.#cache.bytes;
  }

  append(problem: AppendProblem): Eventually<void> {
    if (touchesGpu(problem)) return this.#onGpu(problem.operation, () => this.#cache.append(problem));
    return this.#rescued(problem.operation, () => this.#here(problem.operation, () => this.#cache.append(problem)));
  }

  attend(problem: AttendProblem): Eventually<PlacedResult> {
    return this.#attends(problem, touchesGpu(problem), () => this.#cache.attend(problem));
  }

  step(append: AppendProblem, attend: AttendProblem): Eventually<PlacedResult> {
    const onGpu = touchesGpu(append) || touchesGpu(attend);
    return this.#attends(attend, onGpu, () => this.#cache.step(append, attend));
  }

  #attends(problem: AttendProblem, onGpu: boolean, work: () => Eventually<PlacedResult>): Eventually<PlacedResult> {
    const { operation } = problem;
    if (onGpu) return this.#onGpu(operation, work);
    const { calibrator } = this.#engines;
    if (!calibrator) return this.#here(operation, work);
    const candidate = attendCandidate(problem, this.#problem, this.form);
    const attend = () => this.#timed(operation, candidate, work);
    if (this.#pays(candidate)) return this.#triedMove(operation).then(() => this.#rescued(operation, attend));
    return this.#rescued(operation, attend);
  }

  /** Record calls, for a cache that lies on the GPU or may move there. */
  get recordAppend(): EngineCache["recordAppend"] {
    if (!this.onGpu) return undefined;
    return (encoder, problem) => this.#recorded(problem.operation, () => this.#cache.recordAppend!(encoder, problem));
  }

  get recordAttend(): EngineCache["recordAttend"] {
    if (!this.onGpu) return undefined;
    return (encoder, problem) => this.#recorded(problem.operation, () => this.#cache.recordAttend!(encoder, problem));
  }

  #recorded<T>(operation: string, record: () => Recorded<T>): Recorded<T> {
    if (this.placement === "webgpu") return this.#engines.recorded(operation, record);
    return { atOnce: false, results: this.moveTo("webgpu", operation).then(() => record().results) };
  }

  rewind(operation: string, lengths: Int32Array): Eventually<void> {
    return this.#here(operation, () => this.#cache.rewind(operation, lengths));
  }

  select(operation: string, indices: Int32Array): Eventually<void> {
    return this.#rescued(operation, () => this.#here(operation, () => this.#cache.select(operation, indices)));
  }

  keep(operation: string, tokens: KeptTokens): Eventually<void> {
    return this.#rescued(operation, () => this.#here(operation, () => this.#cache.keep(operation, tokens)));
  }

  async fork(operation: string): Promise<EngineCache> {
    return this.#placed(await this.#here(operation, () => this.#cache.fork(operation)));
  }

  async slice(operation: string, from: number, to: number): Promise<EngineCache> {
    return this.#placed(await this.#here(operation, () => this.#cache.slice(operation, from, to)));
  }

  save(operation: string): Eventually<Uint8Array> {
    return this.#here(operation, () => this.#cache.save(operation));
  }

  release(): void {
    this.#cache.release();
  }

  /** Seconds that a move to the other engine takes: the bytes go out of one engine and into the other. */
  get moveSeconds(): number {
    const { calibrator } = this.#engines;
    const work = moveWork(this.bytes);
    return calibrator ? calibrator.choice.predict("wasm", work) + calibrator.choice.predict("webgpu", work) : 0;
  }

  /** Copies the content to another engine, which then computes. If that fails, the cache is as before. */
  async moveTo(place: Place, operation: string): Promise<void> {
    if (place === this.placement) return;
    if (place === "webgpu") await this.#engines.gpu(operation); // if there is none, nothing was done
    const bytes = await this.#here(operation, () => this.#cache.save(operation));
    const moved = await this.#engines.on(place, operation, (engine) => engine.loadCache(operation, bytes));
    this.#cache.release();
    this.#cache = moved;
    this.#residence.reset();
  }

  /** Whether moving to the other engine pays, by the calls so far and this one. */
  #pays(candidate: Candidate): boolean {
    const { calibrator } = this.#engines;
    if (!calibrator || !this.movable) return false;
    calibrator.demand(candidate);
    const here = this.placement;
    const there = here === "wasm" ? "webgpu" : "wasm";
    const { key, work, kind } = candidate;
    if (there === "webgpu" && !calibrator.gpu) return false;
    const [now, then] = [calibrator.choice.predict(here, work, key), calibrator.choice.predict(there, work, key)];
    return this.#residence.note(now, then, this.moveSeconds) && (there === "wasm" || calibrator.isUsable(kind));
  }

  async #triedMove(operation: string): Promise<void> {
    try {
      await this.moveTo(this.placement === "wasm" ? "webgpu" : "wasm", operation);
    } catch (error) {
      if (!isGpuFailure(error)) throw error;
      this.#residence.reset();
    }
  }

  /** Runs work whose tensors lie on the GPU. */
  async #onGpu<T>(operation: string, work: () => Eventually<T>): Promise<T> {
    await this.moveTo("webgpu", operation);
    return this.#here(operation, work);
  }

  #here<T>(operation: string, work: () => Eventually<T>): Eventually<T> {
    return this.#engines.on(this.placement, operation, work);
  }

  #timed<T>(operation: string, candidate: Candidate, work: () => Eventually<T>): Eventually<T> {
    if (this.placement === "wasm") return this.#engines.timed("wasm", candidate, work);
    return this.#engines.gpu(operation).then((gpu) => this.#engines.timedOnGpu(gpu, candidate, work));
  }

  /** Runs work. If the GPU fails and the content can still be read, the cache moves to wasm, which does the work again. */
  #rescued<T>(operation: string, work: () => Eventually<T>): Eventually<T> {
    if (this.placement === "wasm" || !this.movable || !this.#engines.calibrator) return work();
    return Promise.resolve(work()).catch(async (error: unknown) => {
      const kind = `cache in ${operation}`;
      if (!this.#engines.rescues(error, { key: { kind, call: kind } })) throw error;
      await this.moveTo("wasm", operation).catch(() => {
        throw error;
      });
      return work();
    });
  }

  #placed(cache: EngineCache): PlacedCache {
    return new PlacedCache(this.#engines, cache, this.#problem, this.#choice);
  }
}
