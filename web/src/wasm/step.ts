import {
  STEP_MEMORY,
  withTensors,
  type EngineStep,
  type MapPart,
  type NormPart,
  type Rows,
  type SoftmaxPart,
  type StepArray,
  type StepPart,
  type StepProblem,
  type TakePart,
  type TopPart,
  type TurnPart,
} from "../step/stepProblem.js";
import { BYTES, type PlacedTensor } from "../tensor/tensor.js";
import type { Eventually } from "../turn/context.js";
import { writeInputs, writeWanted } from "./attention.js";
import type { WasmCache } from "./cache.js";
import { defineFields, entriesAt } from "./callFields.js";
import type { CopiedCall, WasmCore } from "./core.js";
import type { Arena } from "./heap.js";
import { DTYPE, placeInput } from "./inputs.js";
import type { WasmLayer } from "./layer.js";
import { writeLinear } from "./linear.js";
import type { MappedRows, NormedRows, RowsCalls, SoftmaxRows, TakenRows, TopRows } from "./module.js";
import { writeRotary } from "./rotary.js";
import { withSharedMemory } from "./sharedMemory.js";

/** The enumerators of bindings/step.h and row_operations.h. */
const KIND = { layer: 0, linear: 1, norm: 2, map: 3, take: 4, softmax: 5, top: 6, turn: 7, attention: 8 } as const;
const NORM = { layer: 0, rms: 1 } as const;
const IDENTITY = 0;
const FUNCTION = { gelu: 1, geluTanh: 2, quickGelu: 3, silu: 4, relu: 5, tanh: 6 } as const;

export function createStep(core: WasmCore, recorded: StepProblem): EngineStep {
  const problem = withSharedMemory(recorded);
  const arena = core.heap.arena(problem.operation);
  const held = new Map<number, () => void>();
  const letGo = () => {
    arena.free();
    for (const release of held.values()) release();
  };
  /** A tensor with its real address. One of the user is kept as long as the step. */
  const placed = <T extends PlacedTensor>(tensor: T, memory: number): T => {
    const { address } = tensor;
    if (address === undefined) return tensor;
    if (address >= STEP_MEMORY) return { ...tensor, address: memory + address - STEP_MEMORY };
    if (!held.has(address)) held.set(address, core.heap.hold(problem.operation, address));
    return tensor;
  };
  try {
    const calls = callsOf(core);
    const memory = arena.bytes(problem.bytes);
    const parts = problem.parts.map((part) => withTensors(part, (tensor) => placed(tensor, memory)));
    const words = Int32Array.from(parts.flatMap((part) => [KIND[part.kind], placePart(core, arena, calls, part)]));
    const address = arena.copy(words);
    return new WasmStep(core, arena.size, letGo, {
      parts: address,
      numParts: parts.length,
      inputs: problem.inputs.map((tensor) => placed(tensor, memory).address!),
      outputs: problem.outputs.map(({ rows, width, x }) => ({
        ...{ rows, width, stride: x.stride },
        dtype: x.tensor.dtype,
        address: placed<PlacedTensor>(x.tensor, memory).address! + x.offset * BYTES[x.tensor.dtype],
      })),
      caches: cachesOf(parts),
    });
  } catch (error) {
    letGo();
    throw error;
  }
}

/** Each cache once. */
const cachesOf = (parts: readonly StepPart[]): ReadonlySet<WasmCache> =>
  new Set(
    parts.flatMap((part) => (part.kind === "layer" && part.problem.cache ? [part.problem.cache as WasmCache] : [])),
  );

/** Writes a call into the arena, with all that it reads. Returns its address. */
function placePart(core: WasmCore, arena: Arena, calls: StepCalls, part: StepPart): number {
  switch (part.kind) {
    case "layer": {
      (part.layer as WasmLayer).write(core.struct("LayerCall"), arena, part.problem);
      const address = core.copyOf("LayerCall", calls.size("LayerCall"), arena);
      core.module.movedCall(address);
      return address;
    }
    case "linear":
      writeLinear(core, core.struct("LinearCall"), arena, part.problem);
      return core.copyOf("LinearCall", calls.size("LinearCall"), arena);
    case "attention": {
      const call = core.struct("AttentionCall");
      call.reset();
      writeInputs(call, arena, part.problem);
      writeWanted(call, core.heap, arena, part.problem);
      const address = core.copyOf("AttentionCall", calls.size("AttentionCall"), arena);
      core.module.movedCall(address);
      return address;
    }
    case "turn":
      writeRotary(core, core.struct("RotaryCall"), arena, part.problem);
      return calls.place(arena, "TurnedTokens", turnOf(core, arena, calls, part));
    case "softmax":
      return calls.place(arena, "SoftmaxRows", softmaxOf(arena, part));
    case "top":
      return calls.place(arena, "TopRows", topOf(arena, part));
    case "norm":
      return calls.place(arena, "NormedRows", normOf(arena, part));
    case "map":
      return calls.place(arena, "MappedRows", mapOf(arena, part));
    case "take":
      return calls.place(arena, "TakenRows", takeOf(arena, part));
  }
}

function normOf(arena: Arena, { norm, rows, width, x, gain, shift, epsilon, y }: NormPart): NormedRows {
  return {
    norm: NORM[norm],
    rows,
    width,
    ...placeRows(arena, "x", x),
    gain: placeInput(arena, gain),
    shift: shift ? placeInput(arena, shift) : 0,
    epsilon,
    y: placeInput(arena, y),
  };
}

function mapOf(arena: Arena, { f, rows, width, x, divisor, scale, times, plus, y }: MapPart): MappedRows {
  return {
    function: f ? FUNCTION[f] : IDENTITY,
    rows,
    width,
    ...placeRows(arena, "x", x),
    divisor,
    scale,
    ...placeRows(arena, "times", times),
    ...placeRows(arena, "plus", plus),
    y: placeInput(arena, y),
  };
}

function takeOf(arena: Arena, { rows, width, numbers, table, scales, scale, y }: TakePart): TakenRows {
  return {
    rows,
    width,
    numbers: placeInput(arena, numbers),
    table: placeInput(arena, table),
    tableDtype: DTYPE[table.dtype],
    tableRows: table.shape[0]!,
    scales: scales ? placeInput(arena, scales) : 0,
    scale,
    y: placeInput(arena, y),
  };
}

function softmaxOf(arena: Arena, { rows, width, x, scale, y }: SoftmaxPart): SoftmaxRows {
  return { rows, width, ...placeRows(arena, "x", x), scale, y: placeInput(arena, y) };
}

function topOf(arena: Arena, { rows, width, x, k, values, indices }: TopPart): TopRows {
  const places = { values: placeInput(arena, values), indices: placeInput(arena, indices) };
  return { rows, width, ...placeRows(arena, "x", x), k, ...places };
}

/** The positions of the call that was written are 64-bit; those that a run gets are 32-bit, which rows of tables are too. */
function turnOf(core: WasmCore, arena: Arena, calls: StepCalls, { problem, numbers }: TurnPart) {
  const call = core.struct("RotaryCall");
  const given = numbers ? placeInput(arena, numbers) : 0;
  if (numbers && problem.angles.tables) call.rows = given;
  const { positions } = call;
  const turn = core.copyOf("RotaryCall", calls.size("RotaryCall"), arena);
  const runs = problem.angles.tables ? 0 : given;
  return { turn, numbers: runs, positions, followsLength: Number(problem.followsLength) };
}

/** The address of the first row, and how far apart rows lie; 0 without rows. */
function placeRows<N extends string>(arena: Arena, name: N, rows: Rows | undefined) {
  const address = rows ? placeInput(arena, rows.tensor) + rows.offset * BYTES.float32 : 0;
  return { [name]: address, [`${name}Stride`]: rows?.stride ?? 0 } as Record<N | `${N}Stride`, number>;
}

/** The calls of steps: their sizes, and where their fields lie. */
class StepCalls {
  readonly #core: WasmCore;
  readonly #kinds: ReadonlyMap<string, { readonly size: number; readonly fields: { at: number } }>;

  constructor(core: WasmCore) {
    this.#core = core;
    const kinds = [...entriesAt(core.module.stepCalls(), 3, core.heap)].map(([name, size, list]) => {
      const fields = { at: 0 };
      if (list !== 0) defineFields(fields, list!, core.heap);
      return [core.heap.text(name!), { size: size!, fields: Object.seal(fields) }] as const;
    });
    this.#kinds = new Map(kinds);
  }

  size(kind: CopiedCall): number {
    return this.#kinds.get(kind)!.size;
  }

  /** Writes a call to the arena. Every field is there: nothing has a default. */
  place<K extends keyof RowsCalls>(arena: Arena, kind: K, values: RowsCalls[K]): number {
    const { size, fields } = this.#kinds.get(kind)!;
    fields.at = arena.bytes(size);
    this.#core.heap.renew();
    Object.assign(fields, values);
    return fields.at;
  }
}

/** The calls of each core, which are read once. */
const CALLS = new WeakMap<WasmCore, StepCalls>();

function callsOf(core: WasmCore): StepCalls {
  const calls = CALLS.get(core) ?? new StepCalls(core);
  CALLS.set(core, calls);
  return calls;
}

/** Where a step lies. All are addresses. */
interface StepForm {
  /** Pairs of words: a kind, and the address of a call. */
  readonly parts: number;
  readonly numParts: number;
  readonly inputs: readonly number[];
  readonly outputs: readonly {
    readonly dtype: "float32" | "int32";
    readonly address: number;
    readonly rows: number;
    readonly width: number;
    readonly stride: number;
  }[];
  readonly caches: ReadonlySet<WasmCache>;
}

/** A step in the core's memory. */
class WasmStep implements EngineStep {
  readonly #core: WasmCore;
  readonly #letGo: () => void;
  readonly #form: StepForm;
  readonly #changing: { readonly refresh: () => void };

  constructor(
    core: WasmCore,
    readonly bytes: number,
    letGo: () => void,
    form: StepForm,
  ) {
    this.#core = core;
    this.#letGo = letGo;
    this.#form = form;
    this.#changing = { refresh: () => form.caches.forEach((cache) => cache.refresh()) };
  }

  run(operation: string, inputs: readonly StepArray[]): Eventually<readonly StepArray[]> {
    const { heap, native } = this.#core;
    const { parts, numParts } = this.#form;
    const start = () => {
      heap.renew();
      this.#form.inputs.forEach((address, n) => heap.write(address, inputs[n]!));
      native.step(parts, numParts);
      return () => this.#form.outputs.map((output) => this.#read(output));
    };
    return this.#core.call(operation, start, this.#changing);
  }

  /** Rows, side by side. */
  #read({ dtype, address, rows, width, stride }: StepForm["outputs"][number]): StepArray {
    const { heap } = this.#core;
    if (stride === width || rows === 1) return heap.read(address, dtype, rows * width);
    const gathered = new Float32Array(rows * width);
    for (let row = 0; row < rows; row++)
      heap.readInto(address + row * stride * BYTES.float32, gathered.subarray(row * width, (row + 1) * width));
    return gathered;
  }

  release(): void {
    this.#letGo();
  }
}
