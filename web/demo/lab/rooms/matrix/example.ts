import { matrix, type Matrix } from "../../shell/matrix.js";

export const WORDS = ["my", "phone", "needs", "more", "RAM", "now"] as const;

/** The largest sizes of the room. */
export const LARGEST = { positions: WORDS.length, inputDim: 8, headDim: 4, valueDim: 4, numHeads: 4 } as const;

/** Every head has this many columns in the example, so that a head keeps its numbers when its width changes. */
export const BIN = LARGEST.headDim;
const BINS = LARGEST.numHeads * BIN;

/** Small round numbers, many of them 0, without a pattern. */
const filling = (salt: number) => (row: number, column: number) =>
  [0, 0.5, 0, -0.5, 1, 0, -1][(row * row + 3 * column * column + row * column + salt * 5) % 7]!;

/** A matrix of the example. Its text has the numbers of bins of `width` columns; the rest is filled. */
function example(salt: number, rows: number, columns: number, text = "", width = columns): Matrix {
  const found = text.split(";").map((row) => row.trim().split(/\s+/).map(Number));
  const fill = filling(salt);
  return matrix(rows, columns, (row, column) => {
    const [bin, inBin] = [Math.floor(column / BIN), column % BIN];
    const at = width < BIN ? bin * width + inBin : column;
    const isFound = text !== "" && (width >= BIN || inBin < width);
    return (isFound ? found[row]?.[at] : undefined) ?? fill(row, column);
  });
}

/**
 * The first numbers. In head 1 "phone" looks at "RAM", and "RAM" does not look back; head 2 looks one back. A search
 * over round numbers found those of X, Wq and Wk.
 */
export const EXAMPLE = {
  x: example(
    1,
    LARGEST.positions,
    LARGEST.inputDim,
    "0.5 0 1 0 0.5 -0.5 1; -0.5 1 0.5 0 0 -1 0; -0.5 0 0 0 0 1 1; 1 0.5 0 -0.5 0 1 -0.5; 0 -1 0.5 0 -0.5 0 -1",
  ),
  wq: example(
    2,
    LARGEST.inputDim,
    BINS,
    "0 0 -1 0 -1 1; -1 0 0.5 0 -1 -0.5; 0.5 0 0.5 -0.5 0 -0.5; 0 -0.5 0 0 0 -0.5; 0 -1 0 0 0 0; 0 0 0 1 0 1; 0 -1 0 0 0 -1",
    3,
  ),
  bq: example(3, 1, BINS, "0 0 0.5 0 0 0", 3),
  wk: example(
    4,
    LARGEST.inputDim,
    BINS,
    "1 1 0 -1 0 0; 0.5 -1 -1 0.5 0.5 0; 0 -0.5 0 0 0 0; -1 0 0 0 -1 -0.5; 0 0 -0.5 -1 0 0; 0 0.5 0 -1 0 1; 0.5 0 -1 -0.5 -1 0",
    3,
  ),
  bk: example(5, 1, BINS, "0.5 0 0 0 0 -0.5", 3),
  wv: example(6, LARGEST.inputDim, BINS),
  bv: example(7, 1, BINS, "0 0 0.5 0 0 0 0 0"),
  wo: example(8, BINS, LARGEST.inputDim),
  bo: example(9, 1, LARGEST.inputDim, "0 0.5 0 0 0 0 -0.5"),
} as const;
