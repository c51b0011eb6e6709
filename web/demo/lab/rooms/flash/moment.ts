import { randomNormal } from "../../shell/random.js";
import type { Matrix } from "../../shell/matrix.js";
import { rowHistory, rowsOf, visibleTiles, type RowStep, type TileSizes, type TileStep } from "./online.js";
import { DIM, type Settings } from "./settings.js";

/** One step of the computation: the tile that is computed now, and the row that is followed. */
export interface Moment {
  readonly tile: TileSizes;
  /** All tiles that are computed, in their order. */
  readonly steps: readonly TileStep[];
  readonly step: number;
  readonly now: TileStep;
  /** How many tiles are not computed. */
  readonly skipped: number;
  /** The rows of the tile. */
  readonly rows: readonly number[];
  readonly row: number;
  /** The tiles that the row has met. */
  readonly met: readonly TileStep[];
  /** What each of these tiles did to the row. */
  readonly history: readonly RowStep[];
  /** How many keys the row sees, and how many of them were in the tiles that it has met. */
  readonly sees: number;
  readonly seen: number;
}

export function tensorsOf({ length }: Settings) {
  const tensor = (seed: number) => ({ data: randomNormal(seed, length * DIM), shape: [1, 1, length, DIM] });
  return { query: tensor(11), key: tensor(12), value: tensor(13) };
}

/** The step and the row of the settings, or the last ones if there are fewer. */
export function momentOf(scores: Matrix, values: Matrix, settings: Settings): Moment {
  const tile = { queries: settings.tileQueries, keys: settings.tileKeys };
  const steps = visibleTiles(scores, tile);
  const step = Math.min(settings.step, steps.length - 1);
  const now = steps[step]!;
  const rows = rowsOf(now.rowTile, tile, scores);
  const row = rows[Math.min(settings.row, rows.length - 1)]!;
  const met = steps.slice(0, step + 1).filter(({ rowTile }) => rowTile === now.rowTile);
  const history = rowHistory(scores, values, row, met, tile);
  const visible = (of: readonly number[]) => of.filter((score) => score !== -Infinity).length;
  const all = Math.ceil(scores.rows / tile.queries) * Math.ceil(scores.columns / tile.keys);
  return {
    ...{ tile, steps, step, now, rows, row, met, history },
    skipped: all - steps.length,
    sees: visible(scores.data.slice(row * scores.columns, (row + 1) * scores.columns)),
    seen: history.reduce((sum, { scores: own }) => sum + visible(own), 0),
  };
}
