import { OptionError } from "../base/errors.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { Place, PlaceChoice } from "../tensor/place.js";
import type { Eventually } from "../turn/context.js";
import type { Candidate, Failed } from "./calibrator.js";
import type { Engines } from "./engines.js";
import { Residence } from "./residence.js";
import { moveWork } from "./work.js";

/**
 * A layer or a cache of an AutoEngine. It lies in one engine. It moves to the other when its calls are predicted to gain more
 * than the move costs, when a call has tensors on the GPU, and when the GPU fails.
 */
export abstract class Placed<Kind extends EngineLayer | EngineCache> {
  protected readonly residence = new Residence();
  #inner: Kind;

  /** @param choice - Where the caller wants it. "auto" leaves that open. */
  constructor(
    protected readonly engines: Engines,
    inner: Kind,
    protected readonly choice: PlaceChoice,
  ) {
    this.#inner = inner;
  }

  /** The layer or the cache in its engine. */
  get inner(): Kind {
    return this.#inner;
  }

  get placement(): Place {
    return this.#inner.placement;
  }

  get bytes(): number {
    return this.#inner.bytes;
  }

  /** Whether the caller left it open where it lies. */
  get movable(): boolean {
    return this.choice === "auto";
  }

  /** Whether inputs and results may lie on the GPU. It then moves there. */
  get onGpu(): boolean {
    return this.choice !== "wasm";
  }

  /** The layer or the cache in wasm, which stays there, for a step. */
  fixed(operation: string, what: "layer" | "cache"): Kind {
    if (this.choice === "wasm") return this.#inner;
    throw new OptionError(`${operation}: a ${what} of a step must stay on wasm, this one may move to WebGPU`, {
      hint: `Make it with placement: "wasm", or the instance with backend: "wasm".`,
    });
  }

  /** Moves to an engine, which then computes. If that fails, all is as before. */
  async moveTo(place: Place, operation: string): Promise<void> {
    if (place !== this.placement) this.become(await this.made(place, operation));
  }

  /** Moves to wasm after the GPU has failed with an error. It throws that error if the move fails too. */
  leaveGpu(operation: string, error: unknown): Promise<void> {
    return this.moveTo("wasm", operation).catch(() => {
      throw error;
    });
  }

  /** Makes it in another engine. */
  protected abstract made(place: Place, operation: string): Promise<Kind>;

  /** Takes what lies in another engine for what lies here. */
  protected become(next: Kind): void {
    void this.#inner.release();
    this.#inner = next;
    this.residence.reset();
  }

  /** The engine where it does not lie. */
  protected get elsewhere(): Place {
    return this.placement === "wasm" ? "webgpu" : "wasm";
  }

  /** Seconds that its bytes take into an engine or out of it. */
  protected copySeconds(place: Place): number {
    return this.engines.calibrator?.choice.predict(place, moveWork(this.bytes)) ?? 0;
  }

  /** Notes a call. Returns whether a move to the other engine, which takes `moveSeconds`, pays by now. */
  protected pays(candidate: Candidate, moveSeconds: number): boolean {
    const { calibrator } = this.engines;
    if (!calibrator || !this.movable) return false;
    calibrator.demand(candidate);
    const { key, work, kind } = candidate;
    const there = this.elsewhere;
    if (there === "webgpu" && !calibrator.gpu) return false;
    const seconds = (place: Place) => calibrator.choice.predict(place, work, key);
    const pays = this.residence.note(seconds(this.placement), seconds(there), moveSeconds);
    return pays && (there === "wasm" || calibrator.isUsable(kind));
  }

  /** Runs work where it lies, and learns from the time of a `candidate`. */
  protected here<T>(operation: string, work: () => Eventually<T>, candidate?: Candidate): Eventually<T> {
    if (!candidate) return this.engines.on(this.placement, operation, work);
    if (this.placement === "wasm") return this.engines.timed("wasm", candidate, work);
    return this.engines.gpu(operation).then((gpu) => this.engines.timedOnGpu(gpu, candidate, work));
  }

  /** Whether it can leave a GPU that has failed with this error. */
  protected mayLeave(_error: unknown): boolean {
    return true;
  }

  /** Runs work. If the GPU fails, `leave` brings what the work needs to wasm, and the work is done again. */
  protected rescued<T>(
    failed: Failed,
    work: () => Eventually<T>,
    leave: (error: unknown) => Promise<void>,
  ): Eventually<T> {
    if (this.placement === "wasm" || !this.movable || !this.engines.calibrator) return work();
    return Promise.resolve(work()).catch(async (error: unknown) => {
      if (!this.mayLeave(error) || !this.engines.rescues(error, failed)) throw error;
      await leave(error);
      return work();
    });
  }
}
