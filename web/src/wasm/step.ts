import type { Eventually } from "../call/context.js";
import { inMemory } from "../tensor/tensor.js";
import { BYTES } from "../tensor/tensor.js";
import type { EngineStep, MapPart, NormPart, Rows, StepPart, StepProblem, TakePart } from "../step/stepProblem.js";
import { DTYPE, placeInput } from "./attention.js";
import type { WasmCache } from "./cache.js";
import type { WasmCore } from "./core.js";
import type { Arena } from "./heap.js";
import type { WasmLayer } from "./layer.js";
import { writeLinear } from "./linear.js";
import type { CallStructs } from "./module.js";

/** The enumerators of bindings/step.h and row_operations.h. */
const KIND = { layer: 0, linear: 1, norm: 2, map: 3, take: 4 } as const;
const STRUCT = {
  layer: "LayerCall",
  linear: "LinearCall",
  norm: "NormedRows",
  map: "MappedRows",
  take: "TakenRows",
} as const satisfies Record<StepPart["kind"], keyof CallStructs>;
const NORM = { layer: 0, rms: 1 } as const;
const IDENTITY = 0;
const FUNCTION = { gelu: 1, geluTanh: 2, quickGelu: 3, silu: 4, relu: 5, tanh: 6 } as const;

export function createStep(core: WasmCore, { operation, parts }: StepProblem): EngineStep {
  const arena = core.heap.arena(operation);
  try {
    const words = Int32Array.from(parts.flatMap((part) => [KIND[part.kind], placePart(core, arena, part)]));
    return new WasmStep(core, arena, { address: arena.copy(words), count: parts.length }, cachesOf(parts));
  } catch (error) {
    arena.free();
    throw error;
  }
}

/** Each cache once. */
const cachesOf = (parts: readonly StepPart[]): ReadonlySet<WasmCache> =>
  new Set(
    parts.flatMap((part) => (part.kind === "layer" && part.problem.cache ? [part.problem.cache as WasmCache] : [])),
  );

/** Writes a call into the arena, with all that it reads. Returns its address. */
function placePart(core: WasmCore, arena: Arena, part: StepPart): number {
  writePart(core, arena, part);
  const address = core.copyOf(STRUCT[part.kind], arena);
  if (part.kind === "layer") core.module.movedLayerCall(address);
  return address;
}

function writePart(core: WasmCore, arena: Arena, part: StepPart): void {
  switch (part.kind) {
    case "layer":
      return void (part.layer as WasmLayer).write(core.struct("LayerCall"), arena, part.problem);
    case "linear":
      return void writeLinear(core, core.struct("LinearCall"), arena, part.problem);
    case "norm":
      return writeNorm(core, arena, part);
    case "map":
      return writeMapped(core, arena, part);
    case "take":
      return writeTaken(core, arena, part);
  }
}

function writeNorm(core: WasmCore, arena: Arena, part: NormPart): void {
  const call = core.struct("NormedRows");
  call.reset();
  call.norm = NORM[part.norm];
  call.rows = part.rows;
  call.width = part.width;
  [call.x, call.xStride] = placeRows(arena, part.x);
  call.gain = placeInput(arena, part.gain);
  if (part.shift) call.shift = placeInput(arena, part.shift);
  call.epsilon = part.epsilon;
  call.y = placeInput(arena, part.y);
}

function writeMapped(core: WasmCore, arena: Arena, part: MapPart): void {
  const call = core.struct("MappedRows");
  call.reset();
  call.function = part.f ? FUNCTION[part.f] : IDENTITY;
  call.rows = part.rows;
  call.width = part.width;
  [call.x, call.xStride] = placeRows(arena, part.x);
  call.divisor = part.divisor;
  call.scale = part.scale;
  if (part.times) [call.times, call.timesStride] = placeRows(arena, part.times);
  if (part.plus) [call.plus, call.plusStride] = placeRows(arena, part.plus);
  call.y = placeInput(arena, part.y);
}

function writeTaken(core: WasmCore, arena: Arena, part: TakePart): void {
  const call = core.struct("TakenRows");
  call.reset();
  call.rows = part.rows;
  call.width = part.width;
  call.numbers = placeInput(arena, part.numbers);
  call.table = placeInput(arena, part.table);
  call.tableDtype = DTYPE[part.table.dtype];
  call.tableRows = part.table.shape[0]!;
  if (part.scales) call.scales = placeInput(arena, part.scales);
  call.scale = part.scale;
  call.y = placeInput(arena, part.y);
}

/** The address of the first row, and how far apart rows lie. */
const placeRows = (arena: Arena, { tensor, offset, stride }: Rows) =>
  [placeInput(arena, inMemory(tensor)) + offset * BYTES.float32, stride] as const;

/** A step in the core's memory. */
class WasmStep implements EngineStep {
  readonly #core: WasmCore;
  readonly #arena: Arena;
  readonly #parts: { readonly address: number; readonly count: number };
  readonly #changing: { readonly refresh: () => void };

  constructor(
    core: WasmCore,
    arena: Arena,
    parts: { readonly address: number; readonly count: number },
    caches: ReadonlySet<WasmCache>,
  ) {
    this.#core = core;
    this.#arena = arena;
    this.#parts = parts;
    this.#changing = { refresh: () => caches.forEach((cache) => cache.refresh()) };
  }

  get bytes(): number {
    return this.#arena.size;
  }

  run(operation: string): Eventually<void> {
    const start = () => {
      const call = this.#core.struct("StepCall");
      call.parts = this.#parts.address;
      call.numParts = this.#parts.count;
      this.#core.native.step(call);
      return () => undefined;
    };
    return this.#core.call(operation, start, this.#changing);
  }

  release(): void {
    this.#arena.free();
  }
}
