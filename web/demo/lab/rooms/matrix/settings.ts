import { choice, flag, number, text, type Values } from "../../shell/field.js";
import { parseMatrix } from "../../shell/matrix.js";
import type { Inputs } from "./calculation.js";
import { EXAMPLE, LARGEST_TOKENS, LARGEST_WIDTH } from "./example.js";
import type { Reading } from "./explain.js";

export const fields = {
  tokens: number(4, { min: 2, max: LARGEST_TOKENS }),
  width: number(4, { min: 2, max: LARGEST_WIDTH, step: 2 }),
  x: text(""),
  wq: text(""),
  wk: text(""),
  wv: text(""),
  form: choice("rows", ["rows", "columns"]),
  reading: choice<Reading>("dots", ["dots", "sums"]),
  heads: choice("1", ["1", "2", "each"]),
  head: number(1, { min: 1, max: LARGEST_WIDTH }),
  scale: flag(true),
  causal: flag(false),
  excludeSelf: flag(false),
  softmax: flag(true),
  sameKeys: flag(false),
  dim: number(64, { min: 1, max: 512 }),
};
export type Settings = Values<typeof fields>;
export const EDITABLE = ["x", "wq", "wk", "wv"] as const;
export type Editable = (typeof EDITABLE)[number];
export const NAMES: Readonly<Record<Editable, string>> = { x: "X", wq: "Wq", wk: "Wk", wv: "Wv" };

/** The visitor's numbers, at the chosen sizes. */
export function inputsOf(settings: Settings): Inputs {
  const { tokens, width } = settings;
  const read = (name: Editable) => parseMatrix(settings[name], name === "x" ? tokens : width, width, EXAMPLE[name]);
  const wq = read("wq");
  return {
    x: read("x"),
    wq,
    wk: settings.sameKeys ? wq : read("wk"),
    wv: read("wv"),
    heads: settings.heads === "each" ? width : Number(settings.heads),
    scale: settings.scale,
    causal: settings.causal,
    excludeSelf: settings.excludeSelf,
    softmax: settings.softmax,
    columns: settings.form === "columns",
  };
}
