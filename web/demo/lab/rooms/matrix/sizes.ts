import { t } from "../../../texts/t.js";

/** The sizes of the calculation, by headwise's words. */
export interface Sizes {
  readonly positions: number;
  readonly inputDim: number;
  readonly headDim: number;
  readonly valueDim: number;
  readonly numHeads: number;
}

/** An extent of a matrix, in the letters of the room. */
export type Extent = "S" | "I" | "D" | "O" | "N·D" | "N·O" | "1";

/** What each letter stands for. D and O are widths of one head. */
export const LETTERS = {
  positions: t`S positions`,
  inputDim: t`I input width`,
  headDim: t`D key width`,
  valueDim: t`O value width`,
  numHeads: t`N heads`,
} as const satisfies Readonly<Record<keyof Sizes, string>>;

export function extentOf({ positions, inputDim, headDim, valueDim, numHeads }: Sizes, extent: Extent): number {
  return {
    S: positions,
    I: inputDim,
    D: headDim,
    O: valueDim,
    N·D: numHeads * headDim,
    N·O: numHeads * valueDim,
    "1": 1,
  }[extent];
}

/** "S × I = 5 × 7", which may break before "=" only. */
export function shapeWords(sizes: Sizes, shape: readonly [Extent, Extent]): string {
  const numbers = shape.map((extent) => extentOf(sizes, extent));
  return `${shape.join("\u00a0×\u00a0")} =\u00a0${numbers.join("\u00a0×\u00a0")}`;
}

/** The matrices that the visitor may change, with their extents. */
export const EXTENTS = {
  x: ["S", "I"],
  wq: ["I", "N·D"],
  bq: ["1", "N·D"],
  wk: ["I", "N·D"],
  bk: ["1", "N·D"],
  wv: ["I", "N·O"],
  bv: ["1", "N·O"],
  wo: ["N·O", "I"],
  bo: ["1", "I"],
} as const satisfies Readonly<Record<string, readonly [Extent, Extent]>>;
export type Editable = keyof typeof EXTENTS;
export const EDITABLE = Object.keys(EXTENTS) as readonly Editable[];
