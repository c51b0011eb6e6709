import type { Matrix } from "../../shell/matrix.js";
import type { Sizes } from "./sizes.js";

/** The inputs of the calculation. */
export interface Inputs {
  readonly sizes: Sizes;
  /** What the rows of X are called. */
  readonly names: readonly string[];
  /** [S, I] */
  readonly x: Matrix;
  /** [I, N·D], with a bias of one row */
  readonly wq: Matrix;
  readonly bq: Matrix;
  readonly wk: Matrix;
  readonly bk: Matrix;
  /** [I, N·O] */
  readonly wv: Matrix;
  readonly bv: Matrix;
  /** [N·O, I] */
  readonly wo: Matrix;
  readonly bo: Matrix;
  readonly scale: boolean;
  readonly causal: boolean;
  readonly excludeSelf: boolean;
  readonly softmax: boolean;
}

/** Whether positions are rows or columns. */
export type Form = "rows" | "columns";

/** The steps of one head. Matrices are [queries, keys]. */
export interface HeadSteps {
  readonly raw: Matrix;
  /** Scaled, and −∞ where hidden. */
  readonly masked: Matrix;
  readonly weights: Matrix;
}

/** All steps. Positions are rows, whatever the form of the calculation. */
export interface Steps {
  readonly q: Matrix;
  readonly k: Matrix;
  readonly v: Matrix;
  readonly heads: readonly HeadSteps[];
  /** [S, N·O]: the outputs of the heads side by side. */
  readonly y: Matrix;
  /** [S, I] */
  readonly out: Matrix;
}
