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

/** What each letter means. */
export const LETTERS = {
  positions: "S positions",
  inputDim: "I width of X",
  headDim: "D width of a head’s queries and keys",
  valueDim: "O width of a head’s values",
  numHeads: "N heads",
} as const satisfies Readonly<Record<keyof Sizes, string>>;

export function extentOf({ positions, inputDim, headDim, valueDim, numHeads }: Sizes, extent: Extent): number {
  return {
    S: positions,
    I: inputDim,
    D: headDim,
    O: valueDim,
    "N·D": numHeads * headDim,
    "N·O": numHeads * valueDim,
    "1": 1,
  }[extent];
}

/** "S × I = 5 × 7" */
export function shapeWords(sizes: Sizes, shape: readonly [Extent, Extent]): string {
  return `${shape.join(" × ")} = ${shape.map((extent) => extentOf(sizes, extent)).join(" × ")}`;
}
