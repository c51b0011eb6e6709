import type { FloatDtype, StoredDtype } from "./kernel.js";
import { divideUp, type Limits } from "./limits.js";
import type { AttentionFacts } from "./facts.js";

/** How the inputs of the kernels are stored; see `Kernel`. */
export interface Stored {
  readonly query: FloatDtype;
  readonly stored: StoredDtype;
  readonly halves?: boolean;
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
export const DECODE = { THREADS: 128, LANES: 8, KEYS: KEY_TILE, Q_CAPACITY: 256 } as const;

/**
 * How keys are split into parts, so that the whole GPU has work: every part has at least `leastKeys` keys, and there
 * are only as many parts as make about `enoughWorkgroups` workgroups.
 */
export interface Split {
  readonly leastKeys: number;
  readonly enoughWorkgroups: number;
}

export const ROW_BYTES = 40;

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

export function tilesOf(threadsY: number, columns4: number, attends: boolean): Tiles {
  const queryRows = threadsY * ROWS_PER_THREAD;
  const chunks = 16 * CHUNK4 * (queryRows + KEY_TILE);
  const flags = 4 * (queryRows + KEY_TILE);
  const softmax = attends ? 4 * queryRows * (KEY_TILE + THREADS_X) : 0;
  return {
    queryRows,
    keys: KEY_TILE,
    valueColumns: 4 * columns4,
    threads: THREADS_X * threadsY,
    workgroupBytes: chunks + softmax + ROW_BYTES * queryRows + flags,
  };
}

/** The largest tile that fits the device's workgroups; a small tile for few rows. */
export function chooseThreadsY(rows: number, attends: boolean, limits: Limits): number {
  if (rows <= FEW_ROWS) return FEW_THREADS_Y;
  const fits = (threadsY: number) => {
    const tiles = tilesOf(threadsY, 0, attends);
    return (
      tiles.workgroupBytes <= limits.maxComputeWorkgroupStorageSize &&
      tiles.threads <= limits.maxComputeInvocationsPerWorkgroup
    );
  };
  return THREADS_Y.find(fits) ?? FEW_THREADS_Y;
}

/** The tilings of the attention kernels that a device can run, the default first. */
export function tilingsOf(_limits: Limits): readonly string[] {
  return ["standard"];
}

/** A kernel for an attention pass, its tile, and its rule for splitting keys. */
interface Tile {
  readonly name: "attend" | "decode";
  readonly tiles: Tiles;
  readonly constants: Readonly<Record<string, number>>;
  readonly split: Split;
}

export function attendTile({ wanted }: AttentionFacts, rows: number, value4: number, limits: Limits): Tile {
  const threadsY = chooseThreadsY(rows, true, limits);
  const columns4 = wanted.output ? Math.min(divideUp(value4, THREADS_X), MOST_COLUMNS4_PER_THREAD) : 1;
  const block4 = columns4 * THREADS_X;
  return {
    name: "attend",
    tiles: tilesOf(threadsY, block4, true),
    constants: { ...tileConstants(threadsY), W: columns4, VALUE_BLOCK4: block4, V_KEYS: valueKeys(block4) },
    split: { leastKeys: 512, enoughWorkgroups: 256 },
  };
}

/**
 * The tile of `decode`, which reads each key once. undefined if there are too many rows, or if the heads are too wide
 * for workgroup memory.
 */
export function decodeTile({ shape }: AttentionFacts, rows: number, value4: number): Tile | undefined {
  const depth4 = divideUp(shape.headDim, 4);
  const all = DECODE_ROWS.find((most) => rows <= most);
  const most = DECODE_ROWS.filter((most) => most * depth4 <= DECODE.Q_CAPACITY).at(-1);
  if (all === undefined || most === undefined) return undefined;
  const queryRows = Math.min(all, most);
  const { THREADS, LANES, KEYS, Q_CAPACITY } = DECODE;
  const floats = queryRows * KEYS * (LANES + 1) + 2 * KEYS + 4 * (Q_CAPACITY + THREADS);
  return {
    name: "decode",
    tiles: {
      queryRows,
      keys: KEYS,
      valueColumns: 4 * Math.min(value4, THREADS),
      threads: THREADS,
      workgroupBytes: 4 * floats + (ROW_BYTES + 12) * queryRows,
    },
    constants: { Q_TILE: queryRows, ...DECODE },
    split: { leastKeys: 256, enoughWorkgroups: 1024 },
  };
}

/** Number of keys whose values fit the tile at once. A power of two, so that it divides the tile. */
function valueKeys(block4: number): number {
  return Math.min(KEY_TILE, 2 ** Math.floor(Math.log2((CHUNK4 * KEY_TILE) / block4)));
}
