/** The size of one head, in float32. */
export const HEAD_DIM = 64;
const FLOAT = 4;
/** A tile has as many queries as keys. */
export const TILE = 64;

/** The cost of one way to compute attention. */
export interface Cost {
  /** Bytes in addition to inputs and output. */
  readonly memory: number;
  /** Bytes read from and written to main memory. */
  readonly traffic: number;
  /** A multiply-add counts as two. Exponentials are not counted. */
  readonly flops: number;
}

/**
 * The cost if scores and probabilities are arrays of length × length. Both are written once and read once. Queries, keys
 * and values are read once, the output is written once.
 */
export function squareCost(length: number): Cost {
  const square = FLOAT * length ** 2;
  return { memory: 2 * square, traffic: 4 * square + 4 * FLOAT * length * HEAD_DIM, flops: 4 * length ** 2 * HEAD_DIM };
}

/**
 * The cost by tiles, each computed whole. The length is a multiple of the tile. Queries are read once and the output is
 * written once; a tile's keys and values are read for every tile. The memory is that of one tile: its scores, and of each
 * of its rows the maximum, the sum and the output so far.
 */
export function tiledCost(length: number, causal: boolean): Cost {
  const rows = length / TILE;
  const tiles = causal ? (rows * (rows + 1)) / 2 : rows ** 2;
  return {
    memory: FLOAT * TILE * (TILE + 2 + HEAD_DIM),
    traffic: FLOAT * HEAD_DIM * (2 * length + 2 * TILE * tiles),
    flops: 4 * TILE ** 2 * HEAD_DIM * tiles,
  };
}
