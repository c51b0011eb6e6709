import type { PlacedResult } from "../attention/attentionResult.js";
import type { Eventually } from "../call/context.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { LinearWeights } from "../layer/layerWeights.js";
import { BYTES, type CheckedTensor } from "../tensor/tensor.js";
import {
  DTYPE,
  LAYOUT,
  masks,
  placeInput,
  refuseOverlap,
  writeRagged,
  writeSettings,
  writeWanted,
} from "./attention.js";
import type { WasmCache } from "./cache.js";
import type { WasmCore } from "./core.js";
import type { Arena, HeapArray } from "./heap.js";
import type { LayerCreation } from "./module.js";
import { writeAngles } from "./rotary.js";

/** The enumerators of layer.h and position.h. */
const QK_NORM = { rms: 1, l2: 2 } as const;
const POSITION = { none: 0, learned: 1, sinusoidal: 2, rotary: 3 } as const;
const SPLIT = { interleaved: 0, halves: 1 } as const;

export function createLayer(core: WasmCore, problem: LayerProblem): Eventually<EngineLayer> {
  const { operation, shape, weights, qkNorm, position } = problem;
  return core.call(operation, (arena) => {
    const call = core.struct("LayerCreation");
    call.reset();
    Object.assign(call, { ...shape, outputProjection: Number(shape.outputProjection) });
    const placed = new Map<HeapArray, number>(); // several roles may share one array of packed weights; it is copied once
    const place = (tensor: CheckedTensor): number => {
      const address = placed.get(tensor.data) ?? placeInput(arena, tensor);
      placed.set(tensor.data, address);
      return address;
    };
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
    if (position.kind === "rotary") writeAngles(call, position.angles);
    core.native.createLayer(call);
    return () => new WasmLayer(core, call.result);
  });
}

function writeLinear(
  call: LayerCreation,
  role: "query" | "key" | "value" | "output",
  { weight, offset, inStride, outStride, bias }: LinearWeights,
  place: (tensor: CheckedTensor) => number,
): void {
  call[`${role}Weight`] = place(weight) + offset * BYTES[weight.dtype];
  call[`${role}Dtype`] = DTYPE[weight.dtype];
  call[`${role}InStride`] = inStride;
  call[`${role}OutStride`] = outStride;
  if (!bias) return;
  call[`${role}Bias`] = place(bias.tensor) + bias.offset * BYTES[bias.tensor.dtype];
  call[`${role}BiasDtype`] = DTYPE[bias.tensor.dtype];
}

/** A layer in the core's memory. */
class WasmLayer implements EngineLayer {
  readonly placement = "wasm";
  readonly #core: WasmCore;
  /** The address of the Layer in C++. */
  readonly #address: number;
  #bytes: number;

  constructor(core: WasmCore, address: number) {
    this.#core = core;
    this.#address = address;
    this.#bytes = core.module.layerBytes(address);
  }

  get bytes(): number {
    return this.#bytes;
  }

  forward(problem: ForwardProblem): Eventually<PlacedResult> {
    const { operation, x, key, value, shape, settings, ragged } = problem;
    const { heap, native } = this.#core;
    const call = this.#core.struct("LayerCall");
    const cache = problem.cache as WasmCache | undefined;
    refuseOverlap(operation, problem.output, { x, key, value, ...masks(settings) });
    const start = (arena: Arena) => {
      call.reset();
      call.layer = this.#address;
      call.inputLayout = LAYOUT[problem.layout];
      call.inputBatchSize = shape.batchSize;
      call.inputLength = shape.queryLength;
      call.contextLength = problem.contextLength;
      call.x = placeInput(arena, x);
      call.xDtype = DTYPE[x.dtype];
      if (key) {
        call.keyContext = placeInput(arena, key);
        call.keyContextDtype = DTYPE[key.dtype];
      }
      if (value) {
        call.valueContext = placeInput(arena, value);
        call.valueContextDtype = DTYPE[value.dtype];
      }
      call.layerCache = cache?.address ?? 0;
      call.attendOnly = Number(problem.attendOnly);
      call.appendLengths = arena.copy(problem.appendLengths);
      writeSettings(call, arena, settings);
      if (ragged) writeRagged(call, arena, ragged);
      const collect = writeWanted(call, heap, arena, problem);
      native.layer(call);
      return () => {
        this.#bytes = this.#core.module.layerBytes(this.#address); // a call may keep rows of new positions
        return collect();
      };
    };
    return this.#core.call(operation, start, cache);
  }

  release(): void {
    this.#core.module.releaseLayer(this.#address);
  }
}
