/** The size of one head, in float32. */
const DIM = 64;
const FLOAT = 4;
/** The engine's largest tile. */
const TILE = { queries: 64, keys: 192 };

/** The cost of one way to compute attention. */
export interface Cost {
  /** Bytes in addition to inputs and output. */
  readonly memory: number;
  /** Bytes read from and written to main memory. */
  readonly traffic: number;
  /** A multiply-add counts as two. Exponentials are not counted. */
  readonly flops: number;
}

/** The cost if scores and probabilities are S × S arrays. Both are written and read again. */
export function squareCost(length: number): Cost {
  const square = FLOAT * length ** 2;
  return { memory: 2 * square, traffic: 4 * square + 4 * FLOAT * length * DIM, flops: 4 * length ** 2 * DIM };
}

/** The cost by tiles. Queries and output move once. Keys and values move once for every row of tiles that sees them. */
export function tiledCost(length: number, causal: boolean): Cost {
  const share = causal ? (1 + TILE.keys / length) / 2 : 1;
  const visible = Math.min(share, 1);
  const rowTiles = Math.ceil(length / TILE.queries);
  const scratch = FLOAT * (TILE.queries * TILE.keys + TILE.queries * (DIM + 2) + 2 * TILE.keys * DIM);
  return {
    memory: Math.min(scratch, FLOAT * (length ** 2 + length * (3 * DIM + 2))),
    traffic: FLOAT * length * DIM * (2 + 2 * rowTiles * visible),
    flops: 4 * length ** 2 * DIM * visible,
  };
}
