import type { PlacedResult } from "../attention/attentionResult.js";
import { DeviceLostError, DisposedError, OptionError, UnsupportedError } from "../base/errors.js";
import type { LayerBackwardProblem, PlacedLayerGradients } from "../layer/backwardProblem.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { EngineSaved } from "../layer/engineSaved.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import { updatedProblem, type LayerUpdate } from "../layer/layerUpdate.js";
import { withOwnWeights } from "../layer/ownWeights.js";
import type { Place, PlaceChoice } from "../tensor/place.js";
import type { Eventually, Recorded } from "../turn/context.js";
import type { Candidate } from "./calibrator.js";
import type { Engines } from "./engines.js";
import { Placed } from "./placed.js";
import type { PlacedCache } from "./placedCache.js";
import { forwardCandidate } from "./placedCandidates.js";
import { assertAllIntact, touchesGpu } from "./tensors.js";

type Forwarded = PlacedResult & { readonly saved?: EngineSaved };

/**
 * A layer of an AutoEngine. A cache of a call follows it. While there are saved calls it stays where it is: they lie there
 * too.
 */
export class PlacedLayer extends Placed<EngineLayer> implements EngineLayer {
  /** What the layer was made of, with weights of its own if the layer may move. */
  #problem: LayerProblem;
  #released = false;
  /** The layer in the other engine: it is made in the background, while calls go on here. */
  #next: EngineLayer | undefined;
  #isMoving = false;
  /** Saved calls that have not been released. */
  readonly #saved = new Set<PlacedSaved>();

  constructor(engines: Engines, layer: EngineLayer, problem: LayerProblem, choice: PlaceChoice) {
    super(engines, layer, choice);
    this.#problem = problem;
  }

  /** Records a call; absent for a layer that must lie on wasm. */
  get record(): EngineLayer["record"] {
    return this.onGpu ? (encoder, problem) => this.#record(encoder, problem) : undefined;
  }

  #record(encoder: object, problem: ForwardProblem): Recorded<PlacedResult> {
    this.#arrive();
    const { operation } = problem;
    const cache = problem.cache as PlacedCache | undefined;
    const record = () => {
      const there = cache ? { ...problem, cache: cache.inner } : problem;
      return this.engines.recorded(operation, () => this.inner.record!(encoder, there));
    };
    if (this.placement === "webgpu" && (!cache || cache.placement === "webgpu")) return record();
    return { atOnce: false, results: this.#gathered("webgpu", operation, cache).then(() => record().results) };
  }

  forward(problem: ForwardProblem): Eventually<Forwarded> {
    if (!problem.save) return this.#placed(problem);
    return Promise.resolve(this.#placed(problem)).then(({ saved, ...result }) => ({
      ...result,
      saved: new PlacedSaved(saved!, this.#saved),
    }));
  }

  backward(problem: LayerBackwardProblem): Eventually<PlacedLayerGradients> {
    const { operation } = problem;
    const saved = problem.saved as PlacedSaved;
    if (!this.#saved.has(saved))
      throw new DisposedError(`${operation}: saved was lost with the GPU that it lay on`, {
        hint: "Call forward again.",
      });
    const there = { ...problem, saved: saved.inner };
    return this.here(operation, () => this.inner.backward(there));
  }

  async update(problem: LayerUpdate): Promise<void> {
    const { operation } = problem;
    await this.here(operation, () => this.inner.update(problem));
    const updated = updatedProblem(this.#problem, problem);
    this.#problem = this.movable ? withOwnWeights({ ...updated, operation }) : updated;
    void this.#next?.release(); // it has the old weights; so has one that is being made
    this.#next = undefined;
  }

  #placed(problem: ForwardProblem): Eventually<Forwarded> {
    this.#arrive();
    const { operation } = problem;
    const cache = problem.cache as PlacedCache | undefined;
    const after = (place: Place, candidate?: Candidate) =>
      this.#gathered(place, operation, cache).then(() => this.#rescued(problem, cache, candidate));
    if (touchesGpu(problem)) return after("webgpu");
    const candidate = this.engines.calibrator && forwardCandidate(problem, this.#problem, this.bytes);
    const goes = candidate !== undefined && this.#pays(candidate, cache);
    const isTogether = !cache || cache.placement === this.placement;
    if (goes && this.placement === "webgpu") return after("wasm", candidate);
    if (goes) void this.#prepareMove(operation);
    return isTogether ? this.#rescued(problem, cache, candidate) : after(this.placement, candidate);
  }

  release(): void {
    this.#released = true;
    void this.inner.release();
    void this.#next?.release();
  }

  /** Brings the layer to a place and a cache to the layer, or the layer to a cache that must stay where it is. */
  async #gathered(place: Place, operation: string, cache: PlacedCache | undefined): Promise<void> {
    await this.moveTo(place, operation);
    if (!cache || cache.placement === this.placement) return;
    if (cache.movable) return cache.moveTo(this.placement, operation);
    if (this.movable) return this.moveTo(cache.placement, operation);
    throw new OptionError(
      `${operation}: cache must lie where the layer lies, got placement "${cache.placement}" and "${this.placement}"`,
      { hint: "Give both the same `placement`, or leave it out." },
    );
  }

  /** Computes. If the GPU fails on a `candidate`, the layer and its cache move to wasm, which computes. */
  #rescued(problem: ForwardProblem, cache: PlacedCache | undefined, candidate?: Candidate): Eventually<Forwarded> {
    const { operation } = problem;
    const forward = () => {
      const there = cache ? { ...problem, cache: cache.inner } : problem;
      return this.here(operation, () => this.inner.forward(there), candidate);
    };
    if (!candidate || cache?.movable === false) return forward();
    return this.rescued(candidate, forward, async (error) => {
      await cache?.leaveGpu(operation, error);
      assertAllIntact(problem);
      for (const saved of [...this.#saved]) saved.release(); // they were lost with the GPU
      await this.moveTo("wasm", operation);
    });
  }

  /** Saved calls keep it there, as long as the GPU has them. */
  protected override mayLeave(error: unknown): boolean {
    return this.#saved.size === 0 || DeviceLostError.is(error);
  }

  /** Notes a call. Returns whether a move to the other engine pays by now. */
  #pays(candidate: Candidate, cache: PlacedCache | undefined): boolean {
    if (this.#isMoving || this.#saved.size > 0 || cache?.movable === false) return false;
    return this.pays(candidate, this.copySeconds(this.elsewhere) + (cache?.moveSeconds ?? 0));
  }

  /** Makes the layer on the GPU while calls go on in wasm. A later call finds it there. */
  async #prepareMove(operation: string): Promise<void> {
    this.#isMoving = true;
    this.residence.reset();
    const problem = this.#problem;
    try {
      const next = await this.#make("webgpu", operation);
      if (this.#released || problem !== this.#problem) void next.release();
      else this.#next = next;
    } catch {
      // the layer stays where it is, and tries again when that pays again
    } finally {
      this.#isMoving = false;
    }
  }

  /** Takes the place of the layer in the other engine, if that is ready. */
  #arrive(): void {
    if (!this.#next || this.#saved.size > 0) return;
    this.become(this.#next);
    this.#next = undefined;
  }

  protected async made(place: Place, operation: string): Promise<EngineLayer> {
    if (this.#saved.size > 0)
      throw new UnsupportedError(
        `${operation}: the layer must stay on ${this.placement}, where ${this.#saved.size} saved calls of it lie`,
        { hint: "Call backward or dispose what was saved. Or make the layer with the placement that its calls need." },
      );
    const next = this.#next ?? (await this.#make(place, operation));
    this.#next = undefined;
    return next;
  }

  async #make(place: Place, operation: string): Promise<EngineLayer> {
    return this.engines.on(place, operation, (engine) => engine.createLayer({ ...this.#problem, operation }));
  }
}

/** What the engine of a layer has saved. */
class PlacedSaved implements EngineSaved {
  readonly #live: Set<PlacedSaved>;

  /** @param live - All that have not been released. */
  constructor(
    readonly inner: EngineSaved,
    live: Set<PlacedSaved>,
  ) {
    this.#live = live;
    live.add(this);
  }

  get bytes(): number {
    return this.inner.bytes;
  }

  release(): void {
    if (this.#live.delete(this)) void this.inner.release();
  }
}
