import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import { selectedExtents, type Wanted } from "../attention/returns.js";
import { BYTES, type Dtype } from "../tensor/tensor.js";
import { writeRagged, writeWanted } from "./attention.js";
import type { Heap, Room } from "./heap.js";
import { placeInput } from "./inputs.js";
import type { AttentionCall } from "./module.js";
import { ResultArray } from "./resultArray.js";
import { writeSettings } from "./settings.js";

/** Bytes that `allocate` of embind.cpp takes for an array: whole lines of memory, and at least one more byte. */
const LINE = 64;
const allocated = (bytes: number) => Math.floor((bytes + LINE) / LINE) * LINE;

/** Nothing is read or written. */
const NO_HEAP = undefined as unknown as Heap;

/** Counts the arrays of a call instead of making them. */
class Counter implements Room {
  bytesTaken = 0;

  bytes(bytes: number): number {
    this.bytesTaken += allocated(bytes);
    return 1;
  }

  room(dtype: Dtype, length: number): number {
    return this.bytes(length * BYTES[dtype]);
  }

  result<D extends Dtype>(dtype: D, length: number): ResultArray<D> {
    return new ResultArray(NO_HEAP, this.room(dtype, length), dtype, length);
  }

  copy(data: { readonly byteLength: number } | undefined): number {
    return data === undefined ? 0 : this.bytes(data.byteLength);
  }
}

/** A call struct that takes everything and does nothing. */
const NO_CALL = {
  setMaskExtents: () => undefined,
  setBiasExtents: () => undefined,
  setScore: () => undefined,
  setVisible: () => undefined,
} as unknown as AttentionCall;

const NOTHING: Wanted = {
  output: false,
  probs: undefined,
  topK: undefined,
  lse: false,
  entropy: false,
  scores: undefined,
};

/**
 * Bytes of the engine's memory that a call takes, by purpose. The arrays are counted by the functions that place them.
 * `scratch` is the most that C++ takes while it computes.
 */
export function attentionMemory(problem: AttentionProblem, threads: number): Record<string, number> {
  const { query, key, value, settings, ragged, wanted } = problem;
  const count = (place: (arena: Counter) => void) => {
    const arena = new Counter();
    place(arena);
    return arena.bytesTaken;
  };
  const results = (Object.keys(NOTHING) as (keyof Wanted)[]).filter((name) => wanted[name]);
  const resultBytes = (name: keyof Wanted) =>
    count((arena) => {
      const form = { ...problem, wanted: { ...NOTHING, [name]: wanted[name] } };
      writeWanted({ ...NO_CALL }, NO_HEAP, arena, form);
    });
  return {
    query: count((arena) => placeInput(arena, query)),
    key: count((arena) => placeInput(arena, key)),
    value: count((arena) => value !== key && placeInput(arena, value)),
    options: count((arena) => {
      writeSettings({ ...NO_CALL }, arena, settings);
      if (ragged) writeRagged({ ...NO_CALL }, arena, ragged);
    }),
    ...Object.fromEntries(results.map((name) => [name, resultBytes(name)])),
    scratch: scratchBytes(problem.shape, wanted, threads),
  };
}

// The sizes of cpp/src/attention/plan.cpp, attend_tile.cpp and inspect.cpp, each at its largest.
const TILE = { rows: 256, keys: 256, strip: 32, floats: 2 ** 17, fewRows: 64, splitKeys: 512 } as const;
const INSPECTION = { rows: 64, scoreFloats: 2 ** 20, keyFloats: 2 ** 17, panel: 16 } as const;
/** sizeof(OnlineSoftmax) and sizeof(FinishedSoftmax). */
const SOFTMAX_BYTES = { online: 12, finished: 20 } as const;

function scratchBytes(shape: AttentionShape, wanted: Wanted, threads: number): number {
  const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
  const width = headDim + valueDim;
  const rows = (queryLength * numHeads) / numKvHeads;
  const tileRows = Math.min(TILE.rows, rows + 8);
  const packed = Math.min(TILE.floats + INSPECTION.panel * width, (TILE.keys + INSPECTION.panel) * width);
  const tile = 4 * (tileRows * (width + 24) + packed + TILE.strip * 2 * TILE.keys);
  const isSplit = rows <= TILE.fewRows && keyLength >= 2 * TILE.splitKeys;
  const splits = isSplit ? batchSize * numKvHeads * Math.ceil(keyLength / TILE.splitKeys) : 0;
  const inspects = wanted.probs !== undefined || wanted.scores !== undefined || wanted.topK !== undefined;
  const statistics = inspects ? SOFTMAX_BYTES.finished * batchSize * numHeads * queryLength : 0;
  const inspection = inspects ? inspectionBytes(keyLength, headDim) : 0;
  const chosen = wanted.probs ?? wanted.topK?.selection;
  const flags = chosen && !wanted.output ? selectedExtents(chosen, shape)[0] * queryLength : 0;
  return Math.round(
    threads * Math.max(tile, inspection) + splits * rows * (SOFTMAX_BYTES.online + 4 * valueDim) + statistics + flags,
  );
}

function inspectionBytes(keyLength: number, headDim: number): number {
  const width = Math.ceil(Math.max(keyLength, 1) / INSPECTION.panel) * INSPECTION.panel;
  const rows = Math.min(INSPECTION.rows, Math.max(1, Math.floor(INSPECTION.scoreFloats / width))) + 8;
  const keys = Math.min(INSPECTION.keyFloats + INSPECTION.panel * headDim, (192 + INSPECTION.panel) * headDim);
  return 4 * (rows * (headDim + 16) + keys + (2 * rows + 3) * width) + (rows + 1) * width;
}
