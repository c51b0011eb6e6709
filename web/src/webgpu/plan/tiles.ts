import { DEFAULT_TILING, TILING_NAMES, type Tiling } from "../../engine/gpuOptions.js";
import type { AttentionFacts } from "./facts.js";
import { BYTES, type FloatDtype, type Kernel, type StoredDtype } from "../kernels/kernel.js";
import { divideUp, type Limits, type Together } from "./limits.js";

/** How the inputs of the kernels are stored; see `Kernel`. */
export interface Stored {
  readonly query: FloatDtype;
  readonly stored: StoredDtype;
  readonly halves?: boolean;
  readonly perLoad?: 1 | 2 | 4;
}

/** The tile of one workgroup. */
export interface Tiles {
  readonly queryRows: number;
  readonly keys: number;
  readonly valueColumns: number;
  readonly threads: number;
  readonly workgroupBytes: number;
}

export const THREADS_X = 8;
export const ROWS_PER_THREAD = 4;
export const KEYS4_PER_THREAD = 1;
export const KEY_TILE = 4 * KEYS4_PER_THREAD * THREADS_X;
export const CHUNK4 = 8;
export const MOST_COLUMNS4_PER_THREAD = 4;

/** Threads along the rows, the best first. More threads need more workgroup memory. */
export const THREADS_Y = [16, 8] as const;

/** Up to this many rows use a smaller tile, which wastes less work. */
export const FEW_ROWS = 16;
export const FEW_THREADS_Y = 4;

/**
 * DECODE_ROWS: numbers of rows that a decoding workgroup can compute. DECODE: the rest of its tile; q_rows has room for
 * Q_CAPACITY vec4 of all rows together.
 */
export const DECODE_ROWS = [1, 4, 8] as const;
export const DECODE = { KEYS: KEY_TILE, Q_CAPACITY: 256, VALUES_AHEAD: 4 } as const;
/** Invocations of a decoding workgroup, by PER. With few loads in a row, fewer invocations share the work of a tile better. */
const DECODE_THREADS = { 1: 128, 2: 128, 4: 64 } as const;

/** Most invocations that share a key in `decode`, and most vec4 of outputs of one invocation. */
const MOST_LANES = 8;
const MOST_OUTPUTS4 = 16;

/**
 * How keys are split into parts, so that the whole GPU has work: every part has at least `leastKeys` keys, and there
 * are only as many parts as make about `enoughWorkgroups` workgroups.
 */
export interface Split {
  readonly leastKeys: number;
  readonly enoughWorkgroups: number;
}

export const ROW_BYTES = 40;
export const DROPOUT_ROW_BYTES = 12;

export function tileConstants(threadsY: number): Record<string, number> {
  return {
    THREADS_X,
    THREADS_Y: threadsY,
    THREADS: THREADS_X * threadsY,
    R: ROWS_PER_THREAD,
    C4: KEYS4_PER_THREAD,
    Q_TILE: threadsY * ROWS_PER_THREAD,
    KV_TILE: KEY_TILE,
    CHUNK4,
    KV_CAPACITY: CHUNK4 * KEY_TILE,
  };
}

/** @param rowBytes - What formulas keep of each row. */
export function tilesOf(threadsY: number, columns4: number, attends: boolean, rowBytes: number): Tiles {
  const queryRows = threadsY * ROWS_PER_THREAD;
  const chunks = 16 * CHUNK4 * (queryRows + KEY_TILE);
  const flags = 4 * (queryRows + KEY_TILE);
  const softmax = attends ? 4 * queryRows * (KEY_TILE + THREADS_X) : 0;
  return {
    queryRows,
    keys: KEY_TILE,
    valueColumns: 4 * columns4,
    threads: THREADS_X * threadsY,
    workgroupBytes: chunks + softmax + (ROW_BYTES + rowBytes) * queryRows + flags,
  };
}

/** The largest tile that fits the device's workgroups; a small tile for few rows. */
export function chooseThreadsY(rows: number, attends: boolean, rowBytes: number, limits: Limits): number {
  if (rows <= FEW_ROWS) return FEW_THREADS_Y;
  return THREADS_Y.find((threadsY) => fits(tilesOf(threadsY, 0, attends, rowBytes), limits)) ?? FEW_THREADS_Y;
}

/** A kernel for an attention pass, its tile, and its rule for splitting keys. */
export interface Tile {
  readonly name: "attend_whole" | "attend" | "decode";
  readonly tiles: Tiles;
  readonly constants: Kernel["constants"];
  readonly split: Split;
  /** See Kernel. */
  readonly perLoad?: 1 | 2 | 4;
}

/** How many register tiles a workgroup has, and of which size: see attend_whole.wgsl. */
interface Registers {
  readonly threads: number;
  readonly lanes: number;
  readonly rowsPerLane: number;
  readonly keysPerLane: number;
  /** Most vec4 of a chunk of keys or values. Default: the whole tile is one chunk. */
  readonly chunk4?: number;
}

/**
 * The tilings of attention. "narrow" has many invocations with few registers, which hides the time that memory takes.
 * "wide" has large register tiles: each number from workgroup memory serves more products. Which is faster depends on the
 * GPU: on an H100 "narrow" is 2.0 times as fast for heads of 64 and 2.2 times for 128. "general" reads heads in chunks, for
 * every width and every size of workgroup memory. Each tiling takes the first of its register tiles that fits the widths
 * and the device.
 */
const TILINGS = {
  narrow: [
    { threads: 128, lanes: 16, rowsPerLane: 4, keysPerLane: 2, chunk4: 256 },
    { threads: 64, lanes: 16, rowsPerLane: 4, keysPerLane: 2, chunk4: 256 },
    { threads: 128, lanes: 16, rowsPerLane: 4, keysPerLane: 2, chunk4: 512 },
    { threads: 64, lanes: 16, rowsPerLane: 4, keysPerLane: 2, chunk4: 512 },
    { threads: 128, lanes: 8, rowsPerLane: 4, keysPerLane: 4 },
    { threads: 64, lanes: 8, rowsPerLane: 4, keysPerLane: 4 },
    { threads: 64, lanes: 8, rowsPerLane: 4, keysPerLane: 3 },
  ],
  wide: [
    { threads: 64, lanes: 8, rowsPerLane: 8, keysPerLane: 4 },
    { threads: 64, lanes: 8, rowsPerLane: 4, keysPerLane: 4 },
    { threads: 64, lanes: 8, rowsPerLane: 4, keysPerLane: 3 },
    { threads: 64, lanes: 16, rowsPerLane: 4, keysPerLane: 2, chunk4: 512 },
  ],
} as const satisfies Record<Exclude<Tiling, "general">, readonly Registers[]>;

/** Head widths that attend_whole is compiled for. */
const WHOLE_WIDTHS = [64, 80, 96, 128, 256];

/** More workgroup memory than this would leave most GPUs too few invocations at a time. */
const MOST_WHOLE_BYTES = { narrow: 49152, wide: 32768 } as const;

/** The tilings that differ on a device, the default first. */
export function tilingsOf(limits: Limits): readonly Tiling[] {
  return TILING_NAMES.filter((name) => name === "general" || wholeForm(name, 16, 16, false, limits));
}

/** The tile of an attention pass of many rows. */
export function attendTile(
  facts: AttentionFacts,
  rows: number,
  value4: number,
  halves: boolean,
  rowBytes: number,
  limits: Limits,
): Tile {
  return wholeTile(facts, rows, halves, limits) ?? generalTile(facts, rows, value4, rowBytes, limits);
}

/**
 * The tile of attend_whole; undefined if the heads do not fit, or if there are few rows, no output, int8 keys or dropout.
 */
function wholeTile(facts: AttentionFacts, rows: number, halves: boolean, limits: Limits): Tile | undefined {
  const { shape, wanted, dtypes, dropout } = facts;
  const { headDim, valueDim } = shape;
  const areWhole = [headDim, valueDim].every((width) => WHOLE_WIDTHS.includes(width));
  const { tiling = DEFAULT_TILING } = limits;
  if (tiling === "general" || !areWhole || !wanted.output || rows <= FEW_ROWS || dtypes.key === "int8" || dropout)
    return undefined;
  return wholeForm(tiling, headDim / 4, valueDim / 4, halves, limits);
}

/** The first register tile of a tiling for heads of these widths, in vec4. */
function wholeForm(
  tiling: Exclude<Tiling, "general">,
  D4: number,
  V4: number,
  halves: boolean,
  limits: Limits,
): Tile | undefined {
  for (const registers of TILINGS[tiling]) {
    const tile = wholeTileOf(registers, D4, V4, halves);
    const { workgroupBytes } = tile.tiles;
    if (isEven(tile.constants) && workgroupBytes <= MOST_WHOLE_BYTES[tiling] && fits(tile.tiles, limits)) return tile;
  }
  return undefined;
}

/** Whether all invocations have the same loads, and chunks have whole features and eights of keys; see attend_whole.wgsl. */
function isEven({ LANES, V4, DEPTH4, KEY_LOADS, VALUE_LOADS, CHUNK_KEYS }: Kernel["constants"]): boolean {
  const isShared = LANES === 8 || Number(V4) % Number(LANES) === 0;
  return isShared && [DEPTH4, KEY_LOADS, VALUE_LOADS, Number(CHUNK_KEYS) / 8].every(Number.isInteger);
}

function wholeTileOf(registers: Registers, D4: number, V4: number, halves: boolean): Tile {
  const { threads, lanes, rowsPerLane, keysPerLane, chunk4 = Infinity } = registers;
  const groups = threads / lanes;
  const queryRows = groups * rowsPerLane;
  const keys = lanes * keysPerLane;
  const keyChunks = Math.max(1, divideUp(D4 * keys, chunk4));
  const valueChunks = Math.max(1, divideUp(V4 * keys, chunk4));
  const largestChunk4 = Math.max((D4 * keys) / keyChunks, (V4 * keys) / valueChunks);
  return {
    name: "attend_whole",
    tiles: {
      queryRows,
      keys,
      valueColumns: 4 * V4,
      threads,
      workgroupBytes: 16 * (Math.max(D4, V4) * queryRows + (keys * queryRows) / 4) + (halves ? 8 : 16) * largestChunk4,
    },
    constants: {
      THREADS: threads,
      LANES: lanes,
      GROUPS: groups,
      SPREAD: Math.max(2, lanes / groups),
      ROWS: queryRows,
      KEYS: keys,
      D4,
      V4,
      R: rowsPerLane,
      R4: rowsPerLane / 4,
      C: keysPerLane,
      W: divideUp(V4, lanes),
      KEY_CHUNKS: keyChunks,
      KEYS_IN_CHUNKS: Number(keyChunks > 1),
      DEPTH4: D4 / keyChunks,
      VALUE_CHUNKS: valueChunks,
      VALUES_IN_CHUNKS: Number(valueChunks > 1),
      CHUNK_KEYS: keys / valueChunks,
      CHUNK4: largestChunk4,
      KEY_LOADS: (keys * D4) / keyChunks / threads,
      VALUE_LOADS: (keys * V4) / valueChunks / threads,
      CAREFUL: true,
    },
    split: { leastKeys: 512, enoughWorkgroups: 256 },
  };
}

function generalTile({ wanted }: AttentionFacts, rows: number, value4: number, rowBytes: number, limits: Limits): Tile {
  const threadsY = chooseThreadsY(rows, true, rowBytes, limits);
  const columns4 = wanted.output ? Math.min(divideUp(value4, THREADS_X), MOST_COLUMNS4_PER_THREAD) : 1;
  const block4 = columns4 * THREADS_X;
  return {
    name: "attend",
    tiles: tilesOf(threadsY, block4, true, rowBytes),
    constants: { ...tileConstants(threadsY), W: columns4, VALUE_BLOCK4: block4, V_KEYS: valueKeys(block4) },
    split: { leastKeys: 512, enoughWorkgroups: 256 },
  };
}

function fits({ workgroupBytes, threads }: Tiles, limits: Limits): boolean {
  return workgroupBytes <= limits.maxComputeWorkgroupStorageSize && threads <= limits.maxComputeInvocationsPerWorkgroup;
}

/**
 * The tile of `decode`, which reads each key once. undefined if there are too many rows, or if the heads are too wide
 * or formulas keep too much of a row for workgroup memory.
 */
export function decodeTile(
  { shape }: AttentionFacts,
  rows: number,
  value4: number,
  stored: StoredDtype,
  rowBytes: number,
  limits: Limits,
): Tile | undefined {
  const depth4 = divideUp(shape.headDim, 4);
  const all = DECODE_ROWS.find((most) => rows <= most);
  const most = DECODE_ROWS.filter((most) => most * depth4 <= DECODE.Q_CAPACITY).at(-1);
  if (all === undefined || most === undefined) return undefined;
  const queryRows = Math.min(all, most);
  const tileOf = (perLoad: 1 | 2 | 4) =>
    decodeTileOf(queryRows, perLoad, depth4, value4, rowBytes, limits.together ?? 1);
  const widths = [...loadWidths(stored, queryRows, depth4, value4), 1] as const;
  return widths.map(tileOf).find(({ tiles }) => fits(tiles, limits));
}

function decodeTileOf(
  queryRows: number,
  perLoad: 1 | 2 | 4,
  depth4: number,
  value4: number,
  rowBytes: number,
  together: Together,
): Tile {
  const { KEYS, Q_CAPACITY } = DECODE;
  const THREADS = DECODE_THREADS[perLoad];
  const lanes = depth4 / perLoad < MOST_LANES ? 4 : MOST_LANES;
  const TOGETHER = Math.min(together, lanes);
  const floats = queryRows * KEYS * (lanes / TOGETHER + 1) + 2 * KEYS + 4 * (Q_CAPACITY + THREADS * perLoad);
  return {
    name: "decode",
    perLoad,
    tiles: {
      queryRows,
      keys: KEYS,
      valueColumns: 4 * perLoad * Math.min(divideUp(value4, perLoad), THREADS),
      threads: THREADS,
      workgroupBytes: 4 * floats + (ROW_BYTES + rowBytes + 24) * queryRows,
    },
    constants: {
      Q_TILE: queryRows,
      THREADS,
      ...DECODE,
      LANES: lanes,
      TOGETHER,
      ROUNDS: divideUp(KEYS * lanes, THREADS),
      AHEAD: loadsAhead(divideUp(depth4 / perLoad, lanes)),
    },
    split: { leastKeys: 64, enoughWorkgroups: 512 },
  };
}

/** How many loads of a key an invocation of `decode` asks for at a time: few numbers, because each is a kernel of its own. */
const loadsAhead = (loads: number) => (loads > 2 ? 4 : loads > 1 ? 2 : 1);

/**
 * How many vec4 a load may have, the best first: 16 bytes are best. It must divide the rows, and the outputs of all rows
 * must fit the registers.
 */
function loadWidths(stored: StoredDtype, queryRows: number, depth4: number, value4: number): (2 | 4)[] {
  const divides = (width: number) => depth4 % width === 0 && value4 % width === 0;
  return ([4, 2] as const).filter(
    (width) => width * BYTES[stored] <= 4 && divides(width) && queryRows * width <= MOST_OUTPUTS4,
  );
}

/** Number of keys whose values fit the tile at once. A power of two, so that it divides the tile. */
function valueKeys(block4: number): number {
  return Math.min(KEY_TILE, 2 ** Math.floor(Math.log2((CHUNK4 * KEY_TILE) / block4)));
}
