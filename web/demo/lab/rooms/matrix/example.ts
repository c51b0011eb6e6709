import { matrix, type Matrix } from "../../shell/matrix.js";

export const WORDS = ["the", "car", "in", "a", "park", "now"] as const;

/** The first content of a matrix: small round numbers without a pattern. */
function rounded(salt: number, rows: number, columns: number): Matrix {
  return matrix(
    rows,
    columns,
    (row, column) => (((row * 5 + column * 3 + salt * 7 + row * column * salt) % 5) - 2) / 2,
  );
}

export const LARGEST_TOKENS = WORDS.length;
export const LARGEST_WIDTH = 6;
export const EXAMPLE = {
  x: rounded(1, LARGEST_TOKENS, LARGEST_WIDTH),
  wq: rounded(2, LARGEST_WIDTH, LARGEST_WIDTH),
  wk: rounded(3, LARGEST_WIDTH, LARGEST_WIDTH),
  wv: rounded(4, LARGEST_WIDTH, LARGEST_WIDTH),
} as const;
