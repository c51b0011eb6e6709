import type { PlacedResult } from "../attention/attentionResult.js";
import { DisposedError, OptionError, UnsupportedError } from "../base/errors.js";
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
import { mayMove } from "./mayMove.js";
import type { PlacedCache } from "./placedCache.js";
import { forwardCandidate } from "./placedCandidates.js";
import { Residence } from "./residence.js";
import { assertAllIntact, touchesGpu } from "./tensors.js";
import { moveWork } from "./work.js";

type Forwarded = PlacedResult & { readonly saved?: EngineSaved };

/**
 * A layer of an AutoEngine. Its weights lie in one engine. It moves to the other when its calls are predicted to gain more
 * than the move costs, when a call has tensors on the GPU, and when the GPU fails. A cache of a call follows the layer.
 * While there are saved calls it stays where it is: they lie there too.
 */
export class PlacedLayer implements EngineLayer {
  readonly #engines: Engines;
  readonly #choice: PlaceChoice;
  /** What the layer was made of, with weights of its own if the layer may move. */
  #problem: LayerProblem;
  readonly #residence = new Residence();
  #layer: EngineLayer;
  #released = false;
  /** The layer in the other engine: it is made in the background, while calls go on here. */
  #next: EngineLayer | undefined;
  #isMoving = false;
  /** Saved calls that have not been released. */
  readonly #saved = new Set<PlacedSaved>();

  constructor(engines: Engines, layer: EngineLayer, problem: LayerProblem, choice: PlaceChoice) {
    this.#engines = engines;
    this.#layer = layer;
    this.#problem = problem;
    this.#choice = choice;
  }

  get placement(): Place {
    return this.#layer.placement;
  }

  get bytes(): number {
    return this.#layer.bytes;
  }

  /** Whether inputs and results may lie on the GPU. The layer then moves there. */
  get onGpu(): boolean {
    return this.#choice !== "wasm";
  }

  /** The layer in wasm, which stays there. */
  fixed(operation: string): EngineLayer {
    if (this.#choice === "wasm") return this.#layer;
    throw mayMove(operation, "layer");
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
      return this.#engines.recorded(operation, () => this.#layer.record!(encoder, there));
    };
    if (this.placement === "webgpu" && (!cache || cache.placement === "webgpu")) return record();
    const moved = async () => {
      await this.#moveTo("webgpu", operation);
      await this.#brought(operation, cache);
      return record().results;
    };
    return { atOnce: false, results: moved() };
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
    return this.#engines.on(this.placement, operation, () => this.#layer.backward(there));
  }

  async update(problem: LayerUpdate): Promise<void> {
    const { operation } = problem;
    await this.#engines.on(this.placement, operation, () => this.#layer.update(problem));
    const updated = updatedProblem(this.#problem, problem);
    this.#problem = this.#choice === "auto" ? withOwnWeights({ ...updated, operation }) : updated;
    void this.#next?.release(); // it has the old weights; so has one that is being made
    this.#next = undefined;
  }

  #placed(problem: ForwardProblem): Eventually<Forwarded> {
    this.#arrive();
    const cache = problem.cache as PlacedCache | undefined;
    if (touchesGpu(problem))
      return this.#moveTo("webgpu", problem.operation).then(() => this.#together(problem, cache));
    const isTogether = !cache || cache.placement === this.placement;
    const { calibrator } = this.#engines;
    if (!calibrator) return isTogether ? this.#forward(problem, cache) : this.#together(problem, cache);
    const candidate = forwardCandidate(problem, this.#problem, this.bytes);
    const goes = this.#pays(candidate, cache);
    if (goes && this.placement === "wasm") void this.#prepareMove(problem.operation);
    else if (goes || !isTogether) return this.#after(problem, cache, candidate, goes);
    return this.#rescued(problem, cache, candidate);
  }

  /** Computes after the layer has gone to wasm, if it `goes`, and after its cache has come to it. */
  async #after(
    problem: ForwardProblem,
    cache: PlacedCache | undefined,
    candidate: Candidate,
    goes: boolean,
  ): Promise<Forwarded> {
    if (goes) await this.#moveTo("wasm", problem.operation);
    await this.#brought(problem.operation, cache);
    return this.#rescued(problem, cache, candidate);
  }

  release(): void {
    this.#released = true;
    void this.#layer.release();
    void this.#next?.release();
  }

  /** Computes where the layer lies, after its cache has come there. */
  async #together(problem: ForwardProblem, cache: PlacedCache | undefined): Promise<Forwarded> {
    await this.#brought(problem.operation, cache);
    return this.#forward(problem, cache);
  }

  /** Brings a cache to the layer, or the layer to a cache that must stay where it is. */
  async #brought(operation: string, cache: PlacedCache | undefined): Promise<void> {
    if (!cache || cache.placement === this.placement) return;
    if (cache.movable) return cache.moveTo(this.placement, operation);
    if (this.#choice === "auto") return this.#moveTo(cache.placement, operation);
    throw new OptionError(
      `${operation}: cache must lie where the layer lies, got placement "${cache.placement}" and "${this.placement}"`,
      { hint: "Give both the same `placement`, or leave it out." },
    );
  }

  #forward(problem: ForwardProblem, cache: PlacedCache | undefined, candidate?: Candidate): Eventually<Forwarded> {
    const there = cache ? { ...problem, cache: cache.inner } : problem;
    const work = () => this.#layer.forward(there);
    if (!candidate) return this.#engines.on(this.placement, problem.operation, work);
    if (this.placement === "wasm") return this.#engines.timed("wasm", candidate, work);
    return this.#engines.gpu(problem.operation).then((gpu) => this.#engines.timedOnGpu(gpu, candidate, work));
  }

  /** Computes. If the GPU fails, the layer and its cache move to wasm, which computes. */
  #rescued(problem: ForwardProblem, cache: PlacedCache | undefined, candidate: Candidate): Eventually<Forwarded> {
    const result = this.#forward(problem, cache, candidate);
    if (this.placement === "wasm" || this.#choice !== "auto") return result;
    return Promise.resolve(result).catch(async (error: unknown) => {
      if ((cache && !cache.movable) || !this.#engines.rescues(error, candidate)) throw error;
      await cache?.moveTo("wasm", problem.operation).catch(() => {
        throw error;
      });
      assertAllIntact(problem);
      await this.#moveTo("wasm", problem.operation);
      return this.#forward(problem, cache, candidate);
    });
  }

  /** Notes a call. Returns whether a move to the other engine pays by now. */
  #pays({ key, work, kind, widths }: Candidate, cache: PlacedCache | undefined): boolean {
    const { calibrator } = this.#engines;
    if (!calibrator || this.#choice !== "auto" || this.#isMoving || (cache && !cache.movable)) return false;
    if (this.#saved.size > 0) return false;
    calibrator.demand({ key, work, kind, widths });
    const here = this.placement;
    const there = here === "wasm" ? "webgpu" : "wasm";
    if (there === "webgpu" && !calibrator.gpu) return false;
    const { choice } = calibrator;
    const move = choice.predict(there, moveWork(this.bytes)) + (cache?.moveSeconds ?? 0);
    const pays = this.#residence.note(choice.predict(here, work, key), choice.predict(there, work, key), move);
    return pays && (there === "wasm" || calibrator.isUsable(kind));
  }

  /** Makes the layer on the GPU while calls go on in wasm. A later call finds it there. */
  async #prepareMove(operation: string): Promise<void> {
    this.#isMoving = true;
    this.#residence.reset();
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
    void this.#layer.release();
    this.#layer = this.#next;
    this.#next = undefined;
  }

  async #moveTo(place: Place, operation: string): Promise<void> {
    if (place === this.placement) return;
    if (place === "webgpu" && this.#saved.size > 0)
      throw new UnsupportedError(
        `${operation}: the layer must stay on ${this.placement}, where ${this.#saved.size} saved calls of it lie`,
        { hint: "Call backward or dispose what was saved. Or make the layer with the placement that its calls need." },
      );
    for (const saved of [...this.#saved]) saved.release(); // the GPU has failed, and with it what it has saved
    this.#next ??= await this.#make(place, operation);
    this.#arrive();
    this.#residence.reset();
  }

  async #make(place: Place, operation: string): Promise<EngineLayer> {
    return this.#engines.on(place, operation, (engine) => engine.createLayer({ ...this.#problem, operation }));
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
