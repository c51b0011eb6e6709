import type { PlacedResult } from "../attention/attentionResult.js";
import type { AppendProblem } from "../cache/appendProblem.js";
import type { AttendProblem } from "../cache/attendProblem.js";
import type { CacheForm, CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { KeptTokens } from "../cache/keptTokens.js";
import type { Place, PlaceChoice } from "../tensor/place.js";
import type { Eventually, Recorded } from "../turn/context.js";
import type { Engines } from "./engines.js";
import { isGpuFailure } from "./failure.js";
import { Placed } from "./placed.js";
import { attendCandidate } from "./placedCandidates.js";
import { touchesGpu } from "./tensors.js";

/** A cache of an AutoEngine. Its content moves with it, so it must be readable where it lies. */
export class PlacedCache extends Placed<EngineCache> implements EngineCache {
  readonly #problem: CacheProblem;

  /** @param problem - What the cache was made of, or what is known of it. */
  constructor(engines: Engines, cache: EngineCache, problem: CacheProblem, choice: PlaceChoice) {
    super(engines, cache, choice);
    this.#problem = problem;
  }

  get form(): CacheForm {
    return this.inner.form;
  }

  get appended(): readonly number[] {
    return this.inner.appended;
  }

  append(problem: AppendProblem): Eventually<void> {
    if (touchesGpu(problem)) return this.#onGpu(problem.operation, () => this.inner.append(problem));
    return this.#rescued(problem.operation, () => this.here(problem.operation, () => this.inner.append(problem)));
  }

  attend(problem: AttendProblem): Eventually<PlacedResult> {
    return this.#attends(problem, touchesGpu(problem), () => this.inner.attend(problem));
  }

  step(append: AppendProblem, attend: AttendProblem): Eventually<PlacedResult> {
    const onGpu = touchesGpu(append) || touchesGpu(attend);
    return this.#attends(attend, onGpu, () => this.inner.step(append, attend));
  }

  #attends(problem: AttendProblem, onGpu: boolean, work: () => Eventually<PlacedResult>): Eventually<PlacedResult> {
    const { operation } = problem;
    if (onGpu) return this.#onGpu(operation, work);
    if (!this.engines.calibrator) return this.here(operation, work);
    const candidate = attendCandidate(problem, this.#problem, this.form);
    const attend = () => this.here(operation, work, candidate);
    if (this.pays(candidate, this.moveSeconds))
      return this.#triedMove(operation).then(() => this.#rescued(operation, attend));
    return this.#rescued(operation, attend);
  }

  /** Record calls, for a cache that lies on the GPU or may move there. */
  get recordAppend(): EngineCache["recordAppend"] {
    if (!this.onGpu) return undefined;
    return (encoder, problem) => this.#recorded(problem.operation, () => this.inner.recordAppend!(encoder, problem));
  }

  get recordAttend(): EngineCache["recordAttend"] {
    if (!this.onGpu) return undefined;
    return (encoder, problem) => this.#recorded(problem.operation, () => this.inner.recordAttend!(encoder, problem));
  }

  #recorded<T>(operation: string, record: () => Recorded<T>): Recorded<T> {
    if (this.placement === "webgpu") return this.engines.recorded(operation, record);
    return { atOnce: false, results: this.moveTo("webgpu", operation).then(() => record().results) };
  }

  rewind(operation: string, lengths: Int32Array): Eventually<void> {
    return this.here(operation, () => this.inner.rewind(operation, lengths));
  }

  select(operation: string, indices: Int32Array): Eventually<void> {
    return this.#rescued(operation, () => this.here(operation, () => this.inner.select(operation, indices)));
  }

  keep(operation: string, tokens: KeptTokens): Eventually<void> {
    return this.#rescued(operation, () => this.here(operation, () => this.inner.keep(operation, tokens)));
  }

  async fork(operation: string): Promise<EngineCache> {
    return this.#placed(await this.here(operation, () => this.inner.fork(operation)));
  }

  async slice(operation: string, from: number, to: number): Promise<EngineCache> {
    return this.#placed(await this.here(operation, () => this.inner.slice(operation, from, to)));
  }

  save(operation: string): Eventually<Uint8Array> {
    return this.here(operation, () => this.inner.save(operation));
  }

  release(): void {
    this.inner.release();
  }

  /** Seconds that a move to the other engine takes: the bytes go out of one engine and into the other. */
  get moveSeconds(): number {
    return this.copySeconds("wasm") + this.copySeconds("webgpu");
  }

  /** Copies the content to another engine. */
  protected async made(place: Place, operation: string): Promise<EngineCache> {
    if (place === "webgpu") await this.engines.gpu(operation); // if there is none, nothing was done
    const bytes = await this.here(operation, () => this.inner.save(operation));
    return this.engines.on(place, operation, (engine) => engine.loadCache(operation, bytes));
  }

  async #triedMove(operation: string): Promise<void> {
    try {
      await this.moveTo(this.elsewhere, operation);
    } catch (error) {
      if (!isGpuFailure(error)) throw error;
      this.residence.reset();
    }
  }

  /** Runs work whose tensors lie on the GPU. */
  async #onGpu<T>(operation: string, work: () => Eventually<T>): Promise<T> {
    await this.moveTo("webgpu", operation);
    return this.here(operation, work);
  }

  /** Runs work. If the GPU fails and the content can still be read, the cache moves to wasm, which does the work again. */
  #rescued<T>(operation: string, work: () => Eventually<T>): Eventually<T> {
    const kind = `cache in ${operation}`;
    return this.rescued({ key: { kind, call: kind } }, work, (error) => this.leaveGpu(operation, error));
  }

  #placed(cache: EngineCache): PlacedCache {
    return new PlacedCache(this.engines, cache, this.#problem, this.choice);
  }
}
