import type { PlacedResult } from "../attention/attentionResult.js";
import { formulaReading } from "../attention/formulaReading.js";
import { masks, refuseOverlap } from "../attention/overlap.js";
import { assertIntact } from "../base/intact.js";
import type { LayerBackwardProblem, PlacedLayerGradients } from "../layer/backwardProblem.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { EngineSaved } from "../layer/engineSaved.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { LayerUpdate } from "../layer/layerUpdate.js";
import type { LinearWeights, Role } from "../layer/layerWeights.js";
import type { PlacedLayerViews } from "../layer/views.js";
import { BYTES, type CheckedTensor, type PlacedTensor, type TypedTensor } from "../tensor/tensor.js";
import type { Eventually } from "../turn/context.js";
import { writeRagged, writeWanted } from "./attention.js";
import type { WasmCache } from "./cache.js";
import type { WasmCore } from "./core.js";
import { placeGradient, placeGradients, writeGradients, type GradientForm } from "./gradients.js";
import type { Arena, Heap, HeapArray } from "./heap.js";
import { DTYPE, LAYOUT, placeInput } from "./inputs.js";
import { writePatches, writeViews } from "./inside.js";
import { usesLatePart } from "./latePart.js";
import type { LayerBackwardCall, LayerCall, LinearProperties, WasmModule } from "./module.js";
import { writeAngles } from "./rotary.js";
import { writeSettings } from "./settings.js";

/** The enumerators of layer.h and position.h. */
const QK_NORM = { rms: 1, l2: 2 } as const;
const POSITION = { none: 0, learned: 1, sinusoidal: 2, rotary: 3 } as const;
const ROLES = ["query", "key", "value", "output"] as const;
const SPLIT = { interleaved: 0, halves: 1 } as const;

export function createLayer(core: WasmCore, problem: LayerProblem): Eventually<EngineLayer> {
  const { operation, shape, weights, weightDtype = "float32", qkNorm, position } = problem;
  const keepsStored = weightDtype !== "float32";
  const start = (arena: Arena) => {
    const call = core.struct("LayerCreation");
    call.reset();
    call.weightDtype = DTYPE[weightDtype];
    Object.assign(call, { ...shape, outputProjection: Number(shape.outputProjection) });
    const place = placing(arena);
    writeLinear(call, "query", weights.query, place);
    writeLinear(call, "key", weights.key, place);
    writeLinear(call, "value", weights.value, place);
    if (weights.output) writeLinear(call, "output", weights.output, place);
    if (qkNorm) {
      call.qkNorm = QK_NORM[qkNorm.kind];
      call.qkNormEpsilon = qkNorm.epsilon;
      call.queryGain = arena.copy(qkNorm.queryGain);
      call.keyGain = arena.copy(qkNorm.keyGain);
    }
    call.position = POSITION[position.kind];
    if (position.kind === "learned") {
      call.positionTable = place(position.table);
      call.positionRows = position.table.shape[0]!;
    }
    if (position.kind === "sinusoidal") {
      call.sinusoidalSplit = SPLIT[position.split];
      call.sinusoidalBase = position.base;
    }
    if (position.kind === "rotary") writeAngles(call, position.angles, arena);
    core.native.createLayer(call);
    return () => new WasmLayer(core, call.result, shape.outputDim, keepsStored);
  };
  const work = () => core.call(operation, start);
  return keepsStored || readsStored(weights) ? core.withLatePart(operation, work) : work();
}

/** Whether weights that are not float32 are read, which the late part of the module does. */
function readsStored(weights: Readonly<Partial<Record<Role, Partial<LinearWeights> | undefined>>>): boolean {
  return ROLES.some((role) => (weights[role]?.weight?.dtype ?? "float32") !== "float32");
}

function writeLinear(
  call: LinearProperties,
  role: Role,
  { weight, offset = 0, inStride, outStride, bias }: Partial<LinearWeights>,
  place: (tensor: CheckedTensor) => number,
): void {
  if (weight) {
    call[`${role}Weight`] = place(weight) + offset * BYTES[weight.dtype];
    call[`${role}Dtype`] = DTYPE[weight.dtype];
    call[`${role}InStride`] = inStride!;
    call[`${role}OutStride`] = outStride!;
  }
  if (!bias) return;
  call[`${role}Bias`] = place(bias.tensor) + bias.offset * BYTES[bias.tensor.dtype];
  call[`${role}BiasDtype`] = DTYPE[bias.tensor.dtype];
}

/** Places tensors. Several roles may share one array of packed weights; it is copied once. */
function placing(arena: Arena): (tensor: CheckedTensor) => number {
  const placed = new Map<HeapArray, number>();
  return (tensor) => {
    const address = placed.get(tensor.data) ?? placeInput(arena, tensor);
    placed.set(tensor.data, address);
    return address;
  };
}

/** A layer in the core's memory. */
export class WasmLayer implements EngineLayer {
  readonly placement = "wasm";
  readonly #core: WasmCore;
  /** The address of the Layer in C++. */
  readonly #address: number;
  readonly #outputDim: number;
  /** Whether it keeps its weights in another type than float32. Calls then use the late part of the module. */
  readonly #keepsStored: boolean;
  #bytes: number;

  constructor(core: WasmCore, address: number, outputDim: number, keepsStored: boolean) {
    this.#core = core;
    this.#address = address;
    this.#outputDim = outputDim;
    this.#keepsStored = keepsStored;
    this.#bytes = core.module.layerBytes(address);
  }

  get bytes(): number {
    return this.#bytes;
  }

  forward(problem: ForwardProblem): Eventually<PlacedResult & PlacedLayerViews & { readonly saved?: EngineSaved }> {
    const work = () => (problem.save ? this.#forwardSaved(problem) : this.#forward(problem));
    const isLate = this.#keepsStored || problem.save || usesLatePart(problem, problem.cache?.form.dtype);
    return isLate ? this.#core.withLatePart(problem.operation, work) : work();
  }

  /** The call's inputs lie in an arena of their own, which lives as long as what is saved. */
  async #forwardSaved(
    problem: ForwardProblem,
  ): Promise<PlacedResult & PlacedLayerViews & { readonly saved: EngineSaved }> {
    const { module, heap } = this.#core;
    const inputs = heap.arena(problem.operation);
    let address = 0;
    try {
      const result = await this.#forward(withOwnInputs(problem), inputs, (saved) => (address = saved));
      const { operation, shape, settings } = problem;
      const derivatives = settings.score && formulaReading.code!.readDerivatives(operation, settings.score);
      const form = { numHeads: shape.numHeads, settings, derivatives };
      return { ...result, saved: new WasmSaved(module, address, inputs, form) };
    } catch (error) {
      if (address !== 0) module.releaseSaved(address);
      inputs.free();
      throw error;
    }
  }

  /**
   * @param kept - The arena of the inputs, if the call is saved.
   * @param onSaved - Takes the address of what C++ has saved.
   */
  #forward(
    problem: ForwardProblem,
    kept?: Arena,
    onSaved?: (address: number) => void,
  ): Eventually<PlacedResult & PlacedLayerViews> {
    const { operation, x, key, value, settings } = problem;
    const call = this.#core.struct("LayerCall");
    refuseOverlap(operation, problem.output, { x, key, value, ...masks(settings) });
    const start = (arena: Arena) => {
      const collect = this.write(call, arena, problem, kept);
      this.#core.native.layer(call);
      return () => {
        onSaved?.(call.saved);
        this.#bytes = this.#core.module.layerBytes(this.#address); // a call may keep rows of new positions
        return collect();
      };
    };
    return this.#core.call(operation, start, problem.cache as WasmCache | undefined);
  }

  /**
   * Writes a call of forward. The function that it returns collects the results.
   *
   * @param kept - The arena of the inputs, if the call is saved.
   */
  write(call: LayerCall, arena: Arena, problem: ForwardProblem, kept?: Arena): () => PlacedResult & PlacedLayerViews {
    const { x, key, value, shape, settings, ragged } = problem;
    const inputs = kept ?? arena;
    call.reset();
    call.layer = this.#address;
    call.inputLayout = LAYOUT[problem.layout];
    call.inputBatchSize = shape.batchSize;
    call.inputLength = shape.queryLength;
    call.contextLength = problem.contextLength;
    call.x = placeInput(inputs, x);
    call.xDtype = DTYPE[x.dtype];
    if (key) {
      call.keyContext = placeInput(inputs, key);
      call.keyContextDtype = DTYPE[key.dtype];
    }
    if (value) {
      call.valueContext = placeInput(inputs, value);
      call.valueContextDtype = DTYPE[value.dtype];
    }
    call.layerCache = (problem.cache as WasmCache | undefined)?.address ?? 0;
    call.attendOnly = Number(problem.attendOnly);
    call.appendLengths = arena.copy(problem.appendLengths);
    if (problem.positions) {
      call.positions = arena.copy(problem.positions.data);
      call.positionPlanes = problem.positions.planes;
    }
    call.keyPositions = arena.copy(problem.keyPositions?.data);
    call.saves = Number(kept !== undefined);
    writeSettings(call, inputs, settings);
    if (ragged) writeRagged(call, inputs, ragged);
    writePatches(call, arena, problem.patches);
    const collect = writeWanted(call, this.#core.heap, arena, problem);
    const collectViews = writeViews(call, arena, problem, this.#outputDim);
    return () => ({ ...collect(), ...collectViews() });
  }

  backward(problem: LayerBackwardProblem): Eventually<PlacedLayerGradients> {
    const { operation, dOutput, dLse, shapes, wanted } = problem;
    const { heap, native } = this.#core;
    const saved = problem.saved as WasmSaved;
    const start = (arena: Arena) => {
      const call = this.#core.struct("LayerBackwardCall");
      call.reset();
      call.layer = this.#address;
      call.saved = saved.address;
      call.dOutput = placeInput(arena, dOutput);
      call.dOutputDtype = DTYPE[dOutput.dtype];
      if (dLse) call.dLse = placeInput(arena, dLse);
      const { dInput, dContext, dValueContext } = shapes;
      const collect = placeGradients(call, arena, operation, { dInput, dContext, dValueContext }, wanted);
      const collectInner = writeGradients(call, arena, { operation, ...saved.form, wanted });
      const collectWeights = wanted.gradients ? writeWeightGradients(call, arena, problem) : undefined;
      native.layerBackward(call);
      return () => ({
        ...collect(),
        ...collectInner(),
        ...(collectWeights && { gradients: accumulated(heap, operation, collectWeights(), problem.accumulate) }),
      });
    };
    return this.#core.withLatePart(operation, () => this.#core.call(operation, start));
  }

  update({ operation, weights, queryGain, keyGain, positionTable }: LayerUpdate): Eventually<void> {
    const start = (arena: Arena) => {
      const call = this.#core.struct("LayerUpdateCall");
      call.reset();
      call.layer = this.#address;
      const place = placing(arena);
      for (const role of ROLES) writeLinear(call, role, weights[role] ?? {}, place);
      call.queryGain = arena.copy(queryGain);
      call.keyGain = arena.copy(keyGain);
      if (positionTable) call.positionTable = place(positionTable);
      this.#core.native.updateLayer(call);
      return () => undefined;
    };
    const work = () => this.#core.call(operation, start);
    return this.#keepsStored || readsStored(weights) ? this.#core.withLatePart(operation, work) : work();
  }

  release(): void {
    this.#core.module.releaseLayer(this.#address);
  }
}

/** What the core kept of a call of forward, and the arena with the inputs of that call. */
class WasmSaved implements EngineSaved {
  readonly #module: WasmModule;
  readonly #inputs: Arena;

  /**
   * @param address - Of the SavedForward in C++.
   * @param form - What the gradients of the call depend on.
   */
  constructor(
    module: WasmModule,
    readonly address: number,
    inputs: Arena,
    readonly form: Pick<GradientForm, "numHeads" | "settings" | "derivatives">,
  ) {
    this.#module = module;
    this.#inputs = inputs;
  }

  get bytes(): number {
    return this.#module.savedBytes(this.address) + this.#inputs.size;
  }

  release(): void {
    this.#module.releaseSaved(this.address);
    this.#inputs.free();
  }
}

/** The problem with inputs that are copied even if they lie in the engine: the caller may change them after the call. */
function withOwnInputs(problem: ForwardProblem): ForwardProblem {
  const own = <T extends PlacedTensor | undefined>(tensor: T): T => tensor && { ...tensor, address: undefined };
  const ownMask = <M extends { readonly tensor: PlacedTensor } | undefined>(mask: M): M =>
    mask && { ...mask, tensor: own(mask.tensor) };
  const { x, key, value, settings } = problem;
  return {
    ...problem,
    x: own(x),
    key: own(key),
    value: own(value),
    settings: { ...settings, mask: ownMask(settings.mask), bias: ownMask(settings.bias) },
  };
}

/** Makes room for the gradients of the weights, and writes where each part goes. */
function writeWeightGradients(
  call: LayerBackwardCall,
  arena: Arena,
  { operation, gradients }: LayerBackwardProblem,
): () => Record<string, TypedTensor<"float32">> {
  const { shapes, weights, biases, positionTable, queryGain, keyGain } = gradients;
  const rooms = new Map(
    Object.entries(shapes).map(([name, shape]) => [name, placeGradient(arena, operation, name, shape)]),
  );
  const addressOf = (name: string, offset = 0) => rooms.get(name)!.address + offset * BYTES.float32;
  for (const role of ROLES) {
    const weight = weights[role];
    const bias = biases[role];
    if (weight) {
      call[`${role}Weight`] = addressOf(weight.name, weight.offset);
      call[`${role}InStride`] = weight.inStride;
      call[`${role}OutStride`] = weight.outStride;
    }
    if (bias) call[`${role}Bias`] = addressOf(bias.name, bias.offset);
  }
  if (positionTable !== undefined) call.positionTable = addressOf(positionTable);
  if (queryGain !== undefined) call.queryGain = addressOf(queryGain);
  const isShared = keyGain !== undefined && keyGain === queryGain;
  const ofKeys = isShared ? placeGradient(arena, operation, keyGain, shapes[keyGain]!) : undefined;
  if (keyGain !== undefined) call.keyGain = ofKeys?.address ?? addressOf(keyGain);
  return () => {
    const collected = Object.fromEntries([...rooms].map(([name, { collect }]) => [name, collect()]));
    if (ofKeys) add(collected[keyGain!]!.data, ofKeys.collect().data);
    return collected;
  };
}

/** Adds the gradients to earlier ones, if there are any. */
function accumulated(
  heap: Heap,
  operation: string,
  gradients: Record<string, TypedTensor<"float32">>,
  earlier: LayerBackwardProblem["accumulate"],
): Readonly<Record<string, TypedTensor<"float32">>> {
  if (!earlier) return gradients;
  const sums = Object.entries(earlier) as [string, CheckedTensor<"float32">][];
  for (const [name, sum] of sums)
    if (sum.address === undefined) assertIntact(operation, `accumulate.${name}`, sum.data);
  for (const [name, sum] of sums) {
    const { data } = gradients[name]!;
    if (sum.address === undefined) add(sum.data, data);
    else {
      add(data, heap.read(sum.address, "float32", data.length));
      heap.write(sum.address, data);
    }
  }
  return earlier;
}

function add(sum: Float32Array, more: Float32Array): void {
  for (let n = 0; n < sum.length; ++n) sum[n]! += more[n]!;
}
