import { at, type Matrix } from "../../shell/matrix.js";

/** One tile of the score matrix, by its row and column among the tiles. */
export interface TileStep {
  readonly rowTile: number;
  readonly keyTile: number;
}

export interface TileSizes {
  readonly queries: number;
  readonly keys: number;
}

/** The state of a row between tiles. Nothing else is kept. */
export interface Running {
  /** The largest score so far. */
  readonly maximum: number;
  /** Σ e^(score − maximum) so far. */
  readonly sum: number;
  /** Σ e^(score − maximum)·value so far. */
  readonly output: readonly number[];
}

/** The change of a row by one tile. */
export interface RowStep {
  readonly scores: readonly number[];
  readonly before: Running;
  /** e^(old maximum − new maximum): the earlier sums are multiplied by it. */
  readonly correction: number;
  readonly after: Running;
}

/** The tiles that have a visible pair, in the order of computation. Other tiles are not computed. */
export function visibleTiles(scores: Matrix, tile: TileSizes): TileStep[] {
  const steps: TileStep[] = [];
  for (let rowTile = 0; rowTile * tile.queries < scores.rows; rowTile++)
    for (let keyTile = 0; keyTile * tile.keys < scores.columns; keyTile++)
      if (
        rowsOf(rowTile, tile, scores).some((row) =>
          tileScores(scores, row, keyTile, tile).some((score) => score !== -Infinity),
        )
      )
        steps.push({ rowTile, keyTile });
  return steps;
}

export function rowsOf(rowTile: number, tile: TileSizes, scores: Matrix): number[] {
  const first = rowTile * tile.queries;
  return Array.from({ length: Math.min(tile.queries, scores.rows - first) }, (_, row) => first + row);
}

/** The changes of a row by every tile of its row of tiles, up to this step. */
export function rowHistory(
  scores: Matrix,
  values: Matrix,
  row: number,
  steps: readonly TileStep[],
  tile: TileSizes,
): RowStep[] {
  let running: Running = { maximum: -Infinity, sum: 0, output: Array<number>(values.columns).fill(0) };
  return steps.map(({ keyTile }) => {
    const step = meet(running, tileScores(scores, row, keyTile, tile), values, keyTile * tile.keys);
    running = step.after;
    return step;
  });
}

/** The output of a row after its last tile. */
export function finished({ sum, output }: Running): number[] {
  return output.map((value) => (sum === 0 ? 0 : value / sum));
}

function tileScores(scores: Matrix, row: number, keyTile: number, tile: TileSizes): number[] {
  const first = keyTile * tile.keys;
  return Array.from({ length: Math.min(tile.keys, scores.columns - first) }, (_, key) => at(scores, row, first + key));
}

/** One tile in the online softmax (Milakov and Gimelshein 2018). */
function meet(before: Running, scores: readonly number[], values: Matrix, firstKey: number): RowStep {
  const maximum = Math.max(before.maximum, ...scores);
  if (maximum === -Infinity) return { scores, before, correction: 1, after: before };
  const correction = Math.exp(before.maximum - maximum);
  const weights = scores.map((score) => Math.exp(score - maximum));
  const sum = weights.reduce((total, weight) => total + weight, correction * before.sum);
  const output = before.output.map((old, feature) =>
    weights.reduce((total, weight, key) => total + weight * at(values, firstKey + key, feature), correction * old),
  );
  return { scores, before, correction, after: { maximum, sum, output } };
}
