import { at, type Matrix } from "../../shell/matrix.js";
import type { Cell } from "../../shell/numberGrid.js";
import { decimal } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { whyHidden } from "./definition.js";
import { LINE } from "./lines.js";
import { nameOf, placeName, SHAPES, type Name, type Scene } from "./parts.js";
import type { Editable } from "./sizes.js";

/** The rows and columns from the first to before the second. Absent: all. */
export interface Region {
  readonly rows?: readonly [number, number];
  readonly columns?: readonly [number, number];
  /** How strongly each row is lit, from 0 to 1. Default 1. */
  readonly strengths?: readonly number[];
}
export type Lights = Partial<Readonly<Record<Name, Region>>>;

/** Where a number comes from: what to light, and sentences with its numbers. */
export interface Origin {
  readonly lights: Lights;
  readonly lines: readonly string[];
}

/** Every product: left · right + bias. */
const PRODUCTS = {
  q: ["x", "wq", "bq"],
  k: ["x", "wk", "bk"],
  v: ["x", "wv", "bv"],
  raw: ["qn", "kt", undefined],
  yn: ["p", "vn", undefined],
  out: ["y", "wo", "bo"],
} as const satisfies Partial<Record<Name, readonly [Name, Name, Name | undefined]>>;
type ProductName = keyof typeof PRODUCTS;

/** Where the number of a matrix at a cell comes from. Cells are those of the row form. */
export function originOf(name: Name, cell: Cell, scene: Scene): Origin {
  const { lights, lines } = origins(name, cell, scene);
  return { lights: withSources({ [name]: only(cell), ...lights }, scene), lines };
}

function origins(name: Name, cell: Cell, scene: Scene): Origin {
  const { head, inputs } = scene;
  const { headDim, valueDim } = inputs.sizes;
  const { row, column } = cell;
  switch (name) {
    case "q":
    case "k":
    case "v":
    case "raw":
    case "yn":
    case "out":
      return productOrigin(name, cell, scene);
    case "qn":
      return origins("q", { row, column: head * headDim + column }, scene);
    case "kt":
      return origins("k", { row: column, column: head * headDim + row }, scene);
    case "vn":
      return origins("v", { row, column: head * valueDim + column }, scene);
    case "y":
      return joinedOrigin(cell, scene);
    case "masked":
      return { lights: { raw: only(cell) }, lines: [maskedWords(cell, scene)] };
    case "p":
      return {
        lights: { masked: inputs.softmax ? { rows: one(row) } : only(cell) },
        lines: [weightWords(cell, scene)],
      };
    default:
      return inputOrigin(name, cell, scene);
  }
}

function productOrigin(name: ProductName, { row, column }: Cell, scene: Scene): Origin {
  const [left, right, bias] = PRODUCTS[name];
  const { parts } = scene;
  const factors = Array.from({ length: parts[left].columns }, (_, k) => at(parts[left], row, k));
  const largest = Math.max(...factors.map(Math.abs), 1e-9);
  const asMixture = scene.reading === "mixtures";
  const columns = asMixture ? {} : { columns: one(column) };
  const similarity = similarityWords(name, { row, column }, scene);
  const mixture = mixtureWords(name, row, scene);
  return {
    lights: {
      [name]: { rows: one(row), ...columns },
      [left]: { rows: one(row) },
      [right]: { ...columns, ...(asMixture && { strengths: factors.map((factor) => Math.abs(factor) / largest) }) },
      ...(bias && { [bias]: columns }),
    },
    lines: asMixture ? [mixture, similarity] : [similarity, mixture],
  };
}

function joinedOrigin({ row, column }: Cell, scene: Scene): Origin {
  const { valueDim } = scene.inputs.sizes;
  const [head, inHead] = [Math.floor(column / valueDim), column % valueDim];
  if (head !== scene.head)
    return {
      lights: {},
      lines: [t`This number of Y comes from head ${head + 1}. Choose head ${head + 1} above to see how.`],
    };
  const { lights, lines } = origins("yn", { row, column: inHead }, scene);
  return { lights: { ...lights, yn: only({ row, column: inHead }) }, lines };
}

/** The number is the visitor's own: lights what it enters. */
function inputOrigin(name: Editable, { row, column }: Cell, scene: Scene): Origin {
  const shown = called(name, scene);
  const feature = { columns: one(column) };
  if (name === "x") {
    const lights = { q: { rows: one(row) }, k: { rows: one(row) }, v: { rows: one(row) } };
    return {
      lights,
      lines: [
        t`Type over it: this number of X enters every number of ${placeName(scene.inputs, "S", row)} in Q, K and V.`,
      ],
    };
  }
  const into = ({ q: "q", k: "k", v: "v", o: "out" } as const)[name[1] as "q" | "k" | "v" | "o"];
  const words = name.startsWith("b")
    ? t`Type over it: this number of ${shown} is added to feature ${column + 1} of ${called(into, scene)}, for every position.`
    : t`Type over it: this number of ${shown} enters feature ${column + 1} of ${called(into, scene)}, for every position.`;
  return {
    lights: { [into]: feature },
    lines: [words],
  };
}

/** "Row “phone” of Q₁ times column “RAM” of K₁ᵀ: 1.00·0.50 + … = 2.10." The factors stand in the order of the form. */
function similarityWords(name: ProductName, cell: Cell, scene: Scene): string {
  const [left, right, bias] = PRODUCTS[name];
  const { parts, form } = scene;
  const { row, column } = cell;
  const rowName = placeName(scene.inputs, SHAPES[left][0], row);
  const columnName = placeName(scene.inputs, SHAPES[right][1], column);
  const factors = Array.from({ length: parts[left].columns }, (_, k) => [
    at(parts[left], row, k),
    at(parts[right], k, column),
  ]);
  const ordered = form === "columns" ? factors.map(([a, b]) => [b!, a!]) : factors;
  const terms = ordered.map(([a, b]) => `${bracketed(a!)}·${bracketed(b!)}`);
  const all = bias ? [...terms, `${bracketed(at(parts[bias], 0, column))} (${called(bias, scene)})`] : terms;
  const [leftName, rightName] = [called(left, scene), called(right, scene)];
  const [sum, value] = [all.join(" + "), decimal(at(parts[name], row, column))];
  return form === "columns"
    ? t`Row ${columnName} of ${rightName} times column ${rowName} of ${leftName}: ${sum} = ${value}.`
    : t`Row ${rowName} of ${leftName} times column ${columnName} of ${rightName}: ${sum} = ${value}.`;
}

/** "Row “phone” of Y₁ is a mixture of the rows of V₁: 0.01·(row “my”) + …" */
function mixtureWords(name: ProductName, row: number, scene: Scene): string {
  const [left, right, bias] = PRODUCTS[name];
  const line = LINE[scene.form];
  const parts = Array.from(
    { length: scene.parts[left].columns },
    (_, k) => `${bracketed(at(scene.parts[left], row, k))}·(${line} ${placeName(scene.inputs, SHAPES[right][0], k)})`,
  );
  const all = bias ? [...parts, called(bias, scene)] : parts;
  const [place, sum] = [placeName(scene.inputs, "S", row), all.join(" + ")];
  return scene.form === "columns"
    ? t`Column ${place} of ${called(name, scene)} is a mixture of the columns of ${called(right, scene)}: ${sum}.`
    : t`Row ${place} of ${called(name, scene)} is a mixture of the rows of ${called(right, scene)}: ${sum}.`;
}

function maskedWords({ row, column }: Cell, { parts, inputs }: Scene): string {
  const why = hiddenWords(row, column, inputs);
  if (why) return t`${why}: the score is −∞.`;
  const [before, after] = [at(parts.raw, row, column), at(parts.masked, row, column)].map((value) => decimal(value));
  const [query, key] = [placeName(inputs, "S", row), placeName(inputs, "S", column)];
  return inputs.scale
    ? t`The score of ${query} for ${key}, divided by √D: ${before!} / √${inputs.sizes.headDim} = ${after!}.`
    : t`The score of ${query} for ${key}: the scale is off, it stays ${after!}.`;
}

function weightWords({ row, column }: Cell, { parts, inputs }: Scene): string {
  const [query, key] = [placeName(inputs, "S", row), placeName(inputs, "S", column)];
  const why = hiddenWords(row, column, inputs);
  if (why) return t`${why}: the weight is 0.`;
  const weight = decimal(at(parts.p, row, column));
  if (!inputs.softmax) return t`Softmax is off: the weight that ${query} gives to ${key} is the score, ${weight}.`;
  const powers = rowOf(parts.masked, row)
    .filter((score) => score !== -Infinity)
    .map(power);
  const own = power(at(parts.masked, row, column));
  return t`The weight that ${query} gives to ${key}: ${own} / (${powers.join(" + ")}) = ${weight}.`;
}

function hiddenWords(row: number, column: number, inputs: Scene["inputs"]): string | undefined {
  const why = whyHidden(inputs, row, column);
  if (why === "later")
    return t`${placeName(inputs, "S", row)} may not see ${placeName(inputs, "S", column)}, which comes later`;
  return why && t`${placeName(inputs, "S", row)} may not see itself`;
}

/** Adds the lights of the matrices that a head's parts are cut from. */
function withSources(lights: Lights, { head, inputs: { sizes } }: Scene): Lights {
  const shifted = ([from, until]: readonly [number, number] = [0, Infinity], width: number) =>
    [head * width + from, head * width + Math.min(until, width)] as const;
  const { qn, kt, vn } = lights;
  return {
    ...lights,
    ...(qn && !lights.q && { q: { ...qn, columns: shifted(qn.columns, sizes.headDim) } }),
    ...(kt &&
      !lights.k && { k: { ...(kt.columns && { rows: kt.columns }), columns: shifted(kt.rows, sizes.headDim) } }),
    ...(vn && !lights.v && { v: { ...vn, columns: shifted(vn.columns, sizes.valueDim) } }),
  };
}

function one(index: number): readonly [number, number] {
  return [index, index + 1];
}

function only({ row, column }: Cell): Region {
  return { rows: one(row), columns: one(column) };
}

function rowOf(m: Matrix, row: number): readonly number[] {
  return m.data.slice(row * m.columns, (row + 1) * m.columns);
}

function power(exponent: number): string {
  return `e^${bracketed(exponent)}`;
}

function bracketed(value: number): string {
  const text = decimal(value);
  return text.startsWith("−") ? `(${text})` : text;
}

/** The name of a matrix in a sentence. */
function called(name: Name, scene: Scene): string {
  return name === "p" ? "P" : nameOf(name, scene);
}
