import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { PlacedOutput, PlacedResult } from "../attention/attentionResult.js";
import type { BackwardProblem, PlacedGradients } from "../attention/backwardProblem.js";
import type { MergeProblem, PlacedMerge } from "../attention/mergeProblem.js";
import { masks, refuseOverlap } from "../attention/overlap.js";
import { DisposedError, OptionError } from "../base/errors.js";
import type { CacheForm, CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { Engine, Owner } from "../engine/engine.js";
import type { EngineTensor, NewTensor } from "../engine/engineTensor.js";
import type { GpuEngine } from "../engine/gpuModule.js";
import type { KernelTime, LiveReport } from "../engine/report.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type {
  LinearBackwardProblem,
  LinearProblem,
  PlacedLinearGradients,
  UploadWeightProblem,
} from "../linear/linearProblem.js";
import type { EngineWeight } from "../linear/uploadedWeight.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { EngineStep, LayerPart, StepPart, StepProblem } from "../step/stepProblem.js";
import { checkEncoder, type GpuResult } from "../tensor/gpuTensor.js";
import type { PlaceChoice } from "../tensor/place.js";
import type { BufferTensor, CheckedTensor, Dtype, TensorData, TypedTensor } from "../tensor/tensor.js";
import type { Eventually, Recorded } from "../turn/context.js";
import type { Part } from "../turn/late.js";
import type { Candidate } from "./calibrator.js";
import { attentionCandidate, backwardCandidate } from "./candidates.js";
import { Engines, type Calibrating } from "./engines.js";
import type * as placed from "./placing.js";
import type { PlacedCache } from "./placedCache.js";
import type { PlacedLayer } from "./placedLayer.js";
import { touchesGpu } from "./tensors.js";

/**
 * The engine of `backend: "auto"`. wasm answers at once. Calls whose tensors lie on the GPU go there. Other calls go to the
 * engine that is predicted to be faster, once the GPU was checked and measured in the background.
 */
export class AutoEngine implements Engine {
  readonly onGpu = true;
  readonly places = ["wasm", "webgpu"] as const;
  instance: WeakRef<Owner> | undefined;
  inTurn: Engine["inTurn"];
  readonly #engines: Engines;
  readonly #placing: Part<typeof placed>;

  /**
   * @param calibrating - How to calibrate, or why not to.
   */
  constructor(
    wasm: Engine,
    open: (operation: string) => Promise<GpuEngine>,
    readonly hasGpu: boolean,
    calibrating: Calibrating | string,
    placing: Part<typeof placed>,
  ) {
    this.#placing = placing;
    const openOurs = async (operation: string) => {
      const gpu = await open(operation);
      gpu.instance = this.instance;
      return gpu;
    };
    const inTurn = <T>(work: () => Eventually<T>) => {
      if (!this.inTurn) throw new DisposedError("the engine has no instance");
      return this.inTurn(work);
    };
    this.#engines = new Engines(wasm, openOurs, inTurn, calibrating);
  }

  get live(): LiveReport {
    return this.#engines.live;
  }

  expectLatePart(operation: string): void {
    this.#engines.wasm.expectLatePart?.(operation);
  }

  drop(): boolean {
    return this.#engines.wasm.drop?.() ?? false;
  }

  /** Settles when no background work is left. For tests. */
  get settled(): Promise<void> {
    return this.#engines.calibrator?.settled ?? Promise.resolve();
  }

  get kernelTimes(): readonly KernelTime[] {
    return this.#engines.openGpu?.kernelTimes ?? [];
  }

  /** The GPU's device, once it is open. */
  get device(): object | undefined {
    return this.#engines.openGpu?.device;
  }

  upload<D extends Dtype>(operation: string, tensor: CheckedTensor<D>): Promise<GpuResult<D>> {
    return this.#engines.direct(operation, (gpu) => gpu.upload(operation, tensor));
  }

  uploadWeight(problem: UploadWeightProblem): Promise<EngineWeight> {
    return this.#engines.direct(problem.operation, (gpu) => gpu.uploadWeight(problem));
  }

  download<D extends Dtype>(operation: string, tensor: BufferTensor<D>): Promise<TypedTensor<D>> {
    return this.#engines.direct(operation, (gpu) => gpu.download(operation, tensor));
  }

  async prepare(problem: AttentionProblem): Promise<void> {
    if (!touchesGpu(problem)) return;
    await this.#engines.direct(problem.operation, (gpu) => gpu.prepare(problem));
  }

  async finish(operation: string): Promise<void> {
    await this.#engines.openGpu?.finish(operation);
  }

  record(encoder: object, problem: AttentionProblem): Recorded<PlacedResult> {
    checkEncoder(problem.operation, encoder);
    return this.#engines.recorded(problem.operation, (gpu) => gpu.record(encoder, problem));
  }

  attention(problem: AttentionProblem): Eventually<PlacedResult> {
    const { operation, query, key, value, settings, output } = problem;
    if (touchesGpu(problem)) return this.#engines.direct(operation, (gpu) => gpu.attention(problem));
    return this.#engines.compute(
      problem,
      () => attentionCandidate(problem),
      (engine) => engine.attention(problem),
      () => refuseOverlap(operation, output, { query, key, value, ...masks(settings) }),
    );
  }

  attentionBackward(problem: BackwardProblem): Eventually<PlacedGradients> {
    const work = (engine: Engine) => engine.attentionBackward(problem);
    if (touchesGpu(problem)) return this.#engines.direct(problem.operation, work);
    return this.#engines.computeLike(problem, () => backwardCandidate(problem), work);
  }

  /** Merging is a few operations for each number, so it does not pay to move the numbers to the GPU. */
  merge(problem: MergeProblem): Eventually<PlacedMerge> {
    return this.#where(problem, (engine) => engine.merge(problem));
  }

  rotary(problem: RotaryProblem): Eventually<PlacedOutput> {
    return this.#where(problem, (engine) => engine.rotary(problem));
  }

  /** The product of arrays in JavaScript is done before they would have come to the GPU. */
  linear(problem: LinearProblem): Eventually<PlacedOutput> {
    return this.#where(problem, (engine) => engine.linear(problem));
  }

  linearBackward(problem: LinearBackwardProblem): Eventually<PlacedLinearGradients> {
    return this.#where(problem, (engine) => engine.linearBackward(problem));
  }

  async createCache(problem: CacheProblem): Promise<EngineCache> {
    const placing = await this.#placing.load(problem.operation);
    const make = (engine: Engine) => engine.createCache(problem);
    const cache = await this.#made(problem, () => placing.assumedAttend(problem), make);
    return this.#placed(placing, cache, problem, this.hasGpu ? problem.placement : cache.placement);
  }

  async loadCache(operation: string, bytes: Uint8Array, placement: PlaceChoice = "auto"): Promise<EngineCache> {
    const placing = await this.#placing.load(operation);
    const cache = await this.#engines.on(placement === "webgpu" ? "webgpu" : "wasm", operation, (engine) =>
      engine.loadCache(operation, bytes),
    );
    return this.#placed(placing, cache, problemOf(operation, cache.form), placement);
  }

  #placed(
    placing: typeof placed,
    cache: EngineCache,
    problem: CacheProblem,
    placement: PlaceChoice = "auto",
  ): PlacedCache {
    return new placing.PlacedCache(this.#engines, cache, problem, this.hasGpu ? placement : cache.placement);
  }

  async createLayer(given: LayerProblem): Promise<EngineLayer> {
    const staysHere = given.weightDtype === "int8" && given.placement !== "webgpu"; // to move, it would keep a copy in float32
    const problem: LayerProblem = staysHere ? { ...given, placement: "wasm" } : given;
    const moves = this.hasGpu && (problem.placement ?? "auto") === "auto";
    const placing = await this.#placing.load(problem.operation);
    const own = moves ? placing.withOwnWeights(problem) : problem;
    const make = (engine: Engine) => engine.createLayer(own);
    const layer = await this.#made(problem, () => placing.assumedForward(problem), make);
    return new placing.PlacedLayer(this.#engines, layer, own, moves ? "auto" : layer.placement);
  }

  /** A step computes with wasm. Its layers and caches must stay there. */
  createStep(problem: StepProblem): Eventually<EngineStep> {
    const { operation } = problem;
    const parts = problem.parts.map((part) => onWasm(operation, part));
    return this.#engines.wasm.createStep({ ...problem, parts });
  }

  locate(operation: string, argument: string, given: object, view: TensorData): number | undefined {
    return this.#engines.wasm.locate?.(operation, argument, given, view);
  }

  allocate<D extends Dtype>(
    operation: string,
    wanted: NewTensor<D>,
    later: (release: () => void) => void,
  ): EngineTensor<D> {
    return this.#engines.wasm.allocate(operation, wanted, later);
  }

  dispose(): void {
    this.#engines.dispose();
  }

  #where<T>(problem: Parameters<typeof touchesGpu>[0], work: (engine: Engine) => Eventually<T>): Eventually<T> {
    return this.#engines.on(touchesGpu(problem) ? "webgpu" : "wasm", problem.operation, work);
  }

  /** Makes a layer or a cache where the caller wants it, or where its calls are predicted to be faster. */
  async #made<T>(
    { operation, placement = "auto" }: { readonly operation: string; readonly placement?: PlaceChoice },
    candidateOf: () => Candidate,
    make: (engine: Engine) => Eventually<T>,
  ): Promise<T> {
    const { calibrator } = this.#engines;
    if (placement !== "auto") return this.#engines.on(placement, operation, make);
    if (!calibrator) return make(this.#engines.wasm);
    const candidate = candidateOf();
    const place = calibrator.engineFor(candidate);
    try {
      return await this.#engines.on(place, operation, make);
    } catch (error) {
      if (place === "wasm" || !this.#engines.rescues(error, candidate)) throw error;
      return this.#engines.on("wasm", operation, make);
    }
  }
}

/** A layer's part, with the layer and the cache that wasm has. */
function onWasm(operation: string, part: StepPart): StepPart {
  if (part.kind === "layer") return fixed(operation, part);
  if (part.kind === "linear" && part.problem.uploaded)
    throw new OptionError(`${operation}: a weight of a step must not be on the GPU: a step computes with wasm here`, {
      hint: "Give the tensor that `uploadWeight` was given.",
    });
  return part;
}

function fixed(operation: string, { layer, problem, ...part }: LayerPart): LayerPart {
  const cache = (problem.cache as PlacedCache | undefined)?.fixed(operation, "cache");
  return { ...part, layer: (layer as PlacedLayer).fixed(operation, "layer"), problem: { ...problem, cache } };
}

/** What is known of a loaded cache. Its angles are not, but the kernels do not depend on them. */
function problemOf(operation: string, form: CacheForm): CacheProblem {
  const rotaryDim = form.headDim - (form.headDim % 2);
  const rotary = form.rotary ? { rotaryDim, interleaved: false, base: 10000, scaling: undefined } : undefined;
  return { ...form, operation, rotary };
}
