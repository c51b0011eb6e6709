import { difference } from "../../engine/difference.js";
import { at, transposed, type Matrix } from "../../shell/matrix.js";
import { decimal } from "../../shell/numbers.js";
import type { Form, Steps } from "./steps.js";
import { visibleScores, whyHidden } from "./definition.js";
import { placeName, type Scene } from "./parts.js";
import { percent } from "./percent.js";

const wordOf = (inputs: Scene["inputs"]) => (position: number) => placeName(inputs, "S", position);

/** The room's finding: the pair of tokens that differs most in what it gives and gets. */
export function finding({ head, inputs, parts }: Scene): string {
  const word = wordOf(inputs);
  if (!inputs.softmax) {
    const row = furthestRow(parts.p);
    return `Without softmax the weights of ${word(row)} add up to ${decimal(rowSum(parts.p, row))}; with it, to 1.`;
  }
  const { row, column, apart } = mostAsymmetric(parts.p);
  const [given, back] = [at(parts.p, row, column), at(parts.p, column, row)].map(percent);
  if (apart < 0.005) return `In head ${head + 1} any two tokens give each other the same attention.`;
  const answer = whyHidden(inputs, column, row)
    ? `${word(column)} may not see ${word(row)}`
    : `${word(column)} gives ${back} back`;
  return `In head ${head + 1} ${word(row)} gives ${given} of its attention to ${word(column)}; ${answer}.`;
}

/** What the softmax does, and what would be without it. */
export function softmaxWords({ inputs, parts, form }: Scene): string {
  const word = wordOf(inputs);
  const line = form === "columns" ? "column" : "row";
  const scores = visibleScores(parts.masked);
  const row = furthestRow(scores);
  const sum = decimal(rowSum(scores, row));
  if (!inputs.softmax) {
    const negative = parts.p.data.filter((weight) => weight < 0).length;
    const signs = negative === 0 ? "none is" : negative === 1 ? "one is" : `${negative} are`;
    return `Softmax is off: the scores themselves are the weights. The ${line} of ${word(row)} adds up to ${sum}; of ${count(parts.p.data.length, "weight")} ${signs} negative. headwise always takes the softmax, so the page computes this step and what follows.`;
  }
  const empty = emptyRows(parts.masked);
  const sums = empty.length
    ? `${word(empty[0]!)} sees nothing: its ${line} of P is all 0. Every other ${line} sums to 1.`
    : `Every ${line} of P sums to 1: a share of attention for each token.`;
  return `${sums} Without softmax the ${line} of ${word(row)} would add up to ${sum}.`;
}

/** What is subtracted before the powers, in the row with the largest score; none without softmax. */
export function maximumWords({ inputs, parts, form }: Scene): readonly string[] {
  const word = wordOf(inputs);
  if (!inputs.softmax) return [];
  const { masked } = parts;
  const largest = Math.max(...masked.data);
  const row = Math.floor(masked.data.indexOf(largest) / masked.columns);
  const line = form === "columns" ? "column" : "row";
  return [
    `Before it takes powers, headwise subtracts the largest score of each ${line}: for ${word(row)}, ${decimal(largest)}. Then no power is above 1, and none is too large for a computer. The weights stay: numerator and denominator get the same factor.`,
  ];
}

export function symmetryWords({ inputs, parts }: Scene, sameKeys: boolean): string {
  const word = wordOf(inputs);
  const { row, column, apart } = mostAsymmetric(parts.raw);
  if (sameKeys)
    return "The projections are equal, so K = Q and the scores are symmetric: what one token asks of another, the other asks of it. With two projections a token can look for something that it is not.";
  if (apart < 0.005) return "Here the scores happen to be symmetric, although Q and K have projections of their own.";
  const [asked, answered] = [at(parts.raw, row, column), at(parts.raw, column, row)].map((score) => decimal(score));
  return `The scores are not symmetric: ${word(row)} scores ${asked} for ${word(column)}, and ${word(column)} scores ${answered} for ${word(row)}. Q says what a token looks for, K says what it offers.`;
}

export function scaleWords({ inputs }: Scene): string {
  const { headDim } = inputs.sizes;
  return inputs.scale
    ? `The scores are divided by √D = √${headDim} = ${decimal(Math.sqrt(headDim))}.`
    : "The scale is off: the scores pass as they are.";
}

export function maskWords({ inputs, parts }: Scene): string {
  const { causal, excludeSelf } = inputs;
  const all = parts.masked.data.length;
  const visible = parts.masked.data.filter((score) => score !== -Infinity).length;
  const pairs = `${visible} of ${all} pairs are left.`;
  if (causal && excludeSelf) return `A token sees only what stands before it: ${pairs}`;
  if (causal) return `A token sees itself and what stands before it: ${pairs}`;
  if (excludeSelf) return `No token sees itself; the diagonal is hidden: ${pairs}`;
  return `No mask: every token sees all ${count(parts.masked.rows, "token")}.`;
}

export function biasWords({ inputs }: Scene, isOn: boolean): string {
  if (!isOn) return "The biases are off: they are 0.";
  return inputs.softmax
    ? "The four biases are added. One of them changes no weight: b_K adds the same number to all scores of a query, and the softmax takes it out again."
    : "The four biases are added. Without softmax b_K matters, too: it moves all scores of a query.";
}

export function headsWords({ inputs: { sizes, softmax } }: Scene): string {
  const { numHeads, headDim, valueDim } = sizes;
  if (numHeads === 1) return `One head has one pattern of attention. It takes all of Q, K and V.`;
  return `The N·D = ${numHeads * headDim} features of Q and K are dealt out to ${numHeads} bins of ${headDim}, the N·O = ${numHeads * valueDim} features of V to ${numHeads} bins of ${valueDim}. Each bin has scores${softmax ? " and a softmax" : ""} of its own.`;
}

/** What stays if N·D is held and N is changed. */
export function divideWords({ inputs: { sizes } }: Scene): string {
  const width = sizes.numHeads * sizes.headDim;
  const splits = Array.from({ length: width }, (_, i) => i + 1).filter((heads) => width % heads === 0);
  const ways = splits.map((heads) => `${count(heads, "head")} of ${width / heads}`);
  return `The ${count(width, "feature")} of Q can be cut in ${count(ways.length, "way")}: ${ways.join(", ")}. W_Q has ${count(sizes.inputDim * width, "number")} each time: more heads cost nothing there, and give more maps of fewer features.`;
}

export function joinWords({ inputs: { sizes }, form }: Scene): string {
  const { positions, numHeads, valueDim, inputDim } = sizes;
  const width = numHeads * valueDim;
  const [shape, place] =
    form === "columns"
      ? [`${width} × ${positions}`, "one below the other"]
      : [`${positions} × ${width}`, "side by side"];
  const from = numHeads === 1 ? "The head’s output is" : `The ${numHeads} outputs, ${place}, are`;
  return `${from} Y, ${shape}. W_O mixes the ${count(width, "feature")} and gives ${inputDim} again, so that a layer can follow a layer.`;
}

/** How far the numbers of both forms are apart. */
export function formsWords({ rows, columns }: Readonly<Record<Form, Steps>>): string {
  const all = ({ heads, y, out }: Steps) => [...heads.flatMap(({ weights }) => weights.data), ...y.data, ...out.data];
  const { numbers, largest } = difference("both forms", all(columns), all(rows));
  const millionths = Math.ceil(largest * 1e6);
  const apart = largest === 0 ? "are equal" : `differ by less than ${count(millionths + 1, "millionth")}`;
  return `headwise computes both: layout "BSE" has a row for each position, "BES" a column. Turned over, all ${count(numbers, "number")} of P, Y and the output ${apart}. Point at a number to find it in the other form.`;
}

/** "1 token", "3 tokens" */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** The queries that see no key. */
function emptyRows(masked: Matrix): number[] {
  return rowsOf(masked).filter((row) =>
    masked.data.slice(row * masked.columns, (row + 1) * masked.columns).every((score) => score === -Infinity),
  );
}

/** The row whose sum is furthest from 1. */
function furthestRow(m: Matrix): number {
  const distance = (row: number) => Math.abs(rowSum(m, row) - 1);
  return rowsOf(m).reduce((best, row) => (distance(row) > distance(best) ? row : best));
}

/** The cell that is furthest above its mirror image. */
export function mostAsymmetric(m: Matrix): { row: number; column: number; apart: number } {
  const mirrored = transposed(m);
  const apart = m.data.map((value, cell) => value - mirrored.data[cell]!);
  const cell = apart.indexOf(Math.max(...apart));
  return { row: Math.floor(cell / m.columns), column: cell % m.columns, apart: apart[cell]! };
}

function rowSum(m: Matrix, row: number): number {
  return m.data.slice(row * m.columns, (row + 1) * m.columns).reduce((sum, value) => sum + value, 0);
}

function rowsOf({ rows }: Matrix): number[] {
  return Array.from({ length: rows }, (_, row) => row);
}
