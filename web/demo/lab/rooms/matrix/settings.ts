import { choice, flag, number, text, type Values } from "../../shell/field.js";
import { at, formatMatrix, matrix, parseMatrix, type Matrix } from "../../shell/matrix.js";
import type { Edit } from "../../shell/numberGrid.js";
import type { Inputs } from "./steps.js";
import { HOURS } from "./dictionary.js";
import { BIN, EXAMPLE, LARGEST } from "./example.js";
import { STATIONS } from "./growth.js";
import { originOfX, SOURCES, type Source } from "./source.js";
import type { Reading } from "./parts.js";
import { STOPS } from "./stops.js";
import { EXTENTS, extentOf, type Editable, type Extent, type Sizes } from "./sizes.js";

export const fields = {
  positions: number(5, { min: 2, max: LARGEST.positions }),
  inputDim: number(7, { min: 2, max: LARGEST.inputDim }),
  headDim: number(3, { min: 1, max: LARGEST.headDim }),
  valueDim: number(4, { min: 1, max: LARGEST.valueDim }),
  numHeads: number(2, { min: 1, max: LARGEST.numHeads }),
  head: number(1, { min: 1, max: LARGEST.numHeads }),
  /** What the rows of X stand for. */
  source: choice<Source>("words", SOURCES),
  /** What the words of X are called, one a line; where a line is missing or empty, as in the example. */
  names: text("", 400),
  form: choice("rows", ["rows", "columns"]),
  reading: choice<Reading>("similarities", ["similarities", "mixtures"]),
  scale: flag(true),
  causal: flag(false),
  excludeSelf: flag(false),
  softmax: flag(true),
  bias: flag(true),
  sameKeys: flag(false),
  /** W_Q is 0: all tokens have the query b_Q. */
  oneQuery: flag(false),
  x: text(""),
  wq: text(""),
  bq: text(""),
  wk: text(""),
  bk: text(""),
  wv: text(""),
  bv: text(""),
  wo: text(""),
  bo: text(""),
  dim: number(64, { min: 1, max: 512 }),
  station: number(STATIONS.length, { min: 0, max: STATIONS.length }),
  hour: number(10, { min: 0, max: 23 }),
  sharpness: number(5, { min: 0, max: HOURS.sharpness.length - 1 }),
  length: number(11, { min: 1, max: 14 }),
  /** What a narrow screen shows: one of the diagram's products, or one of the cards after it. */
  stop: number(1, { min: 1, max: STOPS }),
};
export type Settings = Values<typeof fields>;

/** The visitor's numbers, at the chosen sizes. */
export function inputsOf(settings: Settings): Inputs {
  const { positions, inputDim, headDim, valueDim, numHeads, bias, sameKeys, oneQuery } = settings;
  const sizes = { positions, inputDim, headDim, valueDim, numHeads };
  const read = (name: Editable) => cut(whole(settings, name), name, sizes);
  const zeros = (m: Matrix): Matrix => ({ ...m, data: m.data.map(() => 0) });
  const readBias = (name: Editable) => (bias ? read(name) : zeros(read(name)));
  const [wq, bq] = [oneQuery ? zeros(read("wq")) : read("wq"), readBias("bq")];
  return {
    sizes,
    names: namesOf(settings),
    x: read("x"),
    wq,
    bq,
    wk: sameKeys ? wq : read("wk"),
    bk: sameKeys ? bq : readBias("bk"),
    wv: read("wv"),
    bv: readBias("bv"),
    wo: read("wo"),
    bo: readBias("bo"),
    scale: settings.scale,
    causal: settings.causal,
    excludeSelf: settings.excludeSelf,
    softmax: settings.softmax,
  };
}

function namesOf({ source, names }: Settings): readonly string[] {
  const given = source === "words" ? names.split("\n") : [];
  return originOfX(source).names.map((name, at) => given[at] || name);
}

/** The change of the settings to another source: its own numbers, all of them. */
export function ofSource(source: Source): Partial<Settings> {
  const { positions, width } = originOfX(source);
  return { source, positions, inputDim: width, x: "", names: "" };
}

/** The head that is shown, from 0. */
export function headOf({ head, numHeads }: Settings): number {
  return Math.min(head, numHeads) - 1;
}

/** The change of the settings when numbers of a matrix are changed. */
export function edited(settings: Settings, name: Editable, edits: readonly Edit[]): Partial<Settings> {
  const [rowExtent, columnExtent] = EXTENTS[name];
  const before = whole(settings, name);
  const data = [...before.data];
  for (const { row, column, value } of edits) {
    const [r, c] = [placeInExample(row, rowExtent, settings), placeInExample(column, columnExtent, settings)];
    data[r * before.columns + c] = value;
  }
  return { [name]: formatMatrix({ ...before, data }) };
}

/** A matrix at the largest size: the visitor's numbers, where the example's were changed. */
function whole(settings: Settings, name: Editable): Matrix {
  const first = name === "x" ? originOfX(settings.source).x : EXAMPLE[name];
  return parseMatrix(settings[name], first.rows, first.columns, first);
}

function cut(all: Matrix, name: Editable, sizes: Sizes): Matrix {
  const [rows, columns] = EXTENTS[name];
  return matrix(extentOf(sizes, rows), extentOf(sizes, columns), (row, column) =>
    at(all, placeInExample(row, rows, sizes), placeInExample(column, columns, sizes)),
  );
}

/** The heads lie at fixed places of the example, whatever their width. */
function placeInExample(index: number, extent: Extent, { headDim, valueDim }: Sizes): number {
  const width = extent === "N·D" ? headDim : extent === "N·O" ? valueDim : BIN;
  return Math.floor(index / width) * BIN + (index % width);
}
