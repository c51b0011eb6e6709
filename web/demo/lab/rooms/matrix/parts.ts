import { transposed, type Matrix } from "../../shell/matrix.js";
import { t } from "../../../texts/t.js";
import type { Form, Inputs, Steps } from "./steps.js";
import { binOf } from "./definition.js";
import { EXTENTS, type Editable, type Extent } from "./sizes.js";

/** How to read a product: as similarities of rows and columns, or as mixtures of rows. */
export type Reading = "similarities" | "mixtures";

/** A matrix of the diagram. `qn`, `kt`, `vn`, `yn` and those between belong to the head that is shown. */
export type Name = Editable | "q" | "k" | "v" | "qn" | "kt" | "raw" | "masked" | "p" | "vn" | "yn" | "y" | "out";

/** All that the diagram shows, and the sentences speak of. */
export interface Scene {
  readonly inputs: Inputs;
  readonly steps: Steps;
  /** From 0. */
  readonly head: number;
  readonly form: Form;
  readonly reading: Reading;
  readonly parts: Readonly<Record<Name, Matrix>>;
}

export function sceneOf(inputs: Inputs, steps: Steps, head: number, form: Form, reading: Reading): Scene {
  return { inputs, steps, head, form, reading, parts: partsOf(inputs, steps, head) };
}

/** Every matrix of the diagram, with positions as rows. Kᵀ has them as columns. */
function partsOf(inputs: Inputs, { q, k, v, heads, y, out }: Steps, head: number): Record<Name, Matrix> {
  const { headDim, valueDim } = inputs.sizes;
  const { x, wq, bq, wk, bk, wv, bv, wo, bo } = inputs;
  const { raw, masked, weights } = heads[head]!;
  return {
    ...{ x, wq, bq, wk, bk, wv, bv, wo, bo, q, k, v },
    qn: binOf(q, head, headDim),
    kt: transposed(binOf(k, head, headDim)),
    raw,
    masked,
    p: weights,
    vn: binOf(v, head, valueDim),
    yn: binOf(y, head, valueDim),
    y,
    out,
  };
}

/** The shape of every matrix, in the row form. */
export const SHAPES: Readonly<Record<Name, readonly [Extent, Extent]>> = {
  ...EXTENTS,
  q: ["S", "N·D"],
  k: ["S", "N·D"],
  v: ["S", "N·O"],
  qn: ["S", "D"],
  kt: ["D", "S"],
  raw: ["S", "S"],
  masked: ["S", "S"],
  p: ["S", "S"],
  vn: ["S", "O"],
  yn: ["S", "O"],
  y: ["S", "N·O"],
  out: ["S", "I"],
};

/** The name of a matrix as it is shown, such as "W_Qᵀ" or "K₁ᵀ". */
export function nameOf(name: Name, { head, form, inputs }: Pick<Scene, "head" | "form" | "inputs">): string {
  const n = "₁₂₃₄"[head]!;
  const turned = form === "columns" ? "ᵀ" : "";
  return {
    x: "X",
    wq: `W_Q${turned}`,
    bq: "b_Q",
    wk: `W_K${turned}`,
    bk: "b_K",
    wv: `W_V${turned}`,
    bv: "b_V",
    wo: `W_O${turned}`,
    bo: "b_O",
    q: "Q",
    k: "K",
    v: "V",
    qn: `Q${n}`,
    kt: `K${n}ᵀ`,
    raw: t`scores`,
    masked: preparedName(inputs),
    p: t`weights P`,
    vn: `V${n}`,
    yn: `Y${n}`,
    y: "Y",
    out: t`output`,
  }[name];
}

/** What the scores are before the softmax: only those that a mask has met are "masked". */
function preparedName({ scale, causal, excludeSelf }: Inputs): string {
  const isMasked = causal || excludeSelf;
  if (scale) return isMasked ? t`scaled, masked` : t`scaled`;
  return isMasked ? t`masked` : t`scores, unchanged`;
}

/** A row or column of this extent in words: “phone”, or the number of a feature, from 1. */
export function placeName({ names }: Pick<Inputs, "names">, extent: Extent, index: number): string {
  return extent === "S" ? t`“${names[index]!}”` : String(index + 1);
}

/** What stands beside the cells of an axis. Only positions have names. */
export function axisLabels(extent: Extent, { inputs: { sizes, names } }: Scene): readonly string[] {
  return extent === "S" ? names.slice(0, sizes.positions) : [];
}
