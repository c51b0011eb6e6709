import { randomTensor } from "../web/randomTensor.js";

/** A weight that keeps the size of what it multiplies: of inputs with variance 1 it makes outputs with variance 1. */
export const weight = (seed: number, rows: number, columns: number) =>
  randomTensor(seed, [rows, columns], Math.sqrt(3 / rows));

/** All weights and biases of a layer whose widths are all the same. */
export const square = (width: number) => ({
  Wq: weight(1, width, width),
  bq: randomTensor(2, [width]),
  Wk: weight(3, width, width),
  bk: randomTensor(4, [width]),
  Wv: weight(5, width, width),
  bv: randomTensor(6, [width]),
  Wo: weight(7, width, width),
  bo: randomTensor(8, [width]),
});
