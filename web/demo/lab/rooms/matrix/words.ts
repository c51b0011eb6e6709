import { difference } from "../../engine/difference.js";
import { at, transposed, type Matrix } from "../../shell/matrix.js";
import { counted, decimal } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import type { Form, Steps } from "./steps.js";
import { visibleScores, whyHidden } from "./definition.js";
import { LINE } from "./lines.js";
import { placeName, type Scene } from "./parts.js";
import { percent } from "./percent.js";

const wordOf = (inputs: Scene["inputs"]) => (position: number) => placeName(inputs, "S", position);

/** The room's finding: the pair of tokens that differs most in what it gives and gets. */
export function finding({ head, inputs, parts }: Scene): string {
  const word = wordOf(inputs);
  if (!inputs.softmax) {
    const row = furthestRow(parts.p);
    return t`Without softmax the weights of ${word(row)} add up to ${decimal(rowSum(parts.p, row))}; with it, to 1.`;
  }
  const { row, column, apart } = mostAsymmetric(parts.p);
  const [given, back] = [at(parts.p, row, column), at(parts.p, column, row)].map(percent);
  if (apart < 0.005) return t`In head ${head + 1} any two tokens give each other the same attention.`;
  const [one, other] = [word(row), word(column)];
  return whyHidden(inputs, column, row)
    ? t`In head ${head + 1} ${one} gives ${given!} of its attention to ${other}; ${other} may not see ${one}.`
    : t`In head ${head + 1} ${one} gives ${given!} of its attention to ${other}; ${other} gives ${back!} back.`;
}

/** What the softmax does, and what would be without it. */
export function softmaxWords({ inputs, parts, form }: Scene): string {
  const word = wordOf(inputs);
  const line = LINE[form];
  const scores = visibleScores(parts.masked);
  const row = furthestRow(scores);
  const sum = decimal(rowSum(scores, row));
  if (!inputs.softmax) {
    const negative = parts.p.data.filter((weight) => weight < 0).length;
    const all = parts.p.data.length;
    const signs =
      negative === 0 ? t`none is negative` : negative === 1 ? t`one is negative` : t`${negative} are negative`;
    return t`Softmax is off: the scores themselves are the weights. The ${line} of ${word(row)} adds up to ${sum}; of ${all} weights ${signs}. headwise always takes the softmax, so the page computes this step and what follows.`;
  }
  const empty = emptyRows(parts.masked);
  const sums = empty.length
    ? t`${word(empty[0]!)} sees nothing: its ${line} of P is all 0. Every other ${line} sums to 1.`
    : t`Every ${line} of P sums to 1: a share of attention for each token.`;
  return `${sums} ${t`Without softmax the ${line} of ${word(row)} would add up to ${sum}.`}`;
}

/** What is subtracted before the powers, in the row with the largest score; none without softmax. */
export function maximumWords({ inputs, parts, form }: Scene): readonly string[] {
  const word = wordOf(inputs);
  if (!inputs.softmax) return [];
  const { masked } = parts;
  const largest = Math.max(...masked.data);
  const row = Math.floor(masked.data.indexOf(largest) / masked.columns);
  const line = LINE[form];
  return [
    t`Before it takes powers, headwise subtracts the largest score of each ${line}: for ${word(row)}, ${decimal(largest)}. Then no power is above 1, and none is too large for a computer. The weights stay: numerator and denominator get the same factor.`,
  ];
}

export function symmetryWords({ inputs, parts }: Scene, sameKeys: boolean): string {
  const word = wordOf(inputs);
  const { row, column, apart } = mostAsymmetric(parts.raw);
  if (sameKeys)
    return t`The projections are equal, so K = Q and the scores are symmetric: what one token asks of another, the other asks of it. With two projections a token can look for something that it is not.`;
  if (apart < 0.005) return t`Here the scores happen to be symmetric, although Q and K have projections of their own.`;
  const [asked, answered] = [at(parts.raw, row, column), at(parts.raw, column, row)].map((score) => decimal(score));
  const [one, other] = [word(row), word(column)];
  return t`The scores are not symmetric: ${one} scores ${asked!} for ${other}, and ${other} scores ${answered!} for ${one}. Q says what a token looks for, K says what it offers.`;
}

export function scaleWords({ inputs }: Scene): string {
  const { headDim } = inputs.sizes;
  return inputs.scale
    ? t`The scores are divided by √D = √${headDim} = ${decimal(Math.sqrt(headDim))}.`
    : t`The scale is off: the scores pass as they are.`;
}

export function maskWords({ inputs, parts }: Scene): string {
  const { causal, excludeSelf } = inputs;
  const all = parts.masked.data.length;
  const visible = parts.masked.data.filter((score) => score !== -Infinity).length;
  if (causal && excludeSelf) return t`A token sees only what stands before it: ${visible} of ${all} pairs are left.`;
  if (causal) return t`A token sees itself and what stands before it: ${visible} of ${all} pairs are left.`;
  if (excludeSelf) return t`No token sees itself; the diagonal is hidden: ${visible} of ${all} pairs are left.`;
  return t`No mask: every token sees all ${counted(parts.masked.rows, "token")}.`;
}

export function biasWords({ inputs }: Scene, isOn: boolean): string {
  if (!isOn) return t`The biases are off: they are 0.`;
  return inputs.softmax
    ? t`The four biases are added. One of them changes no weight: b_K adds the same number to all scores of a query, and the softmax takes it out again.`
    : t`The four biases are added. Without softmax b_K matters, too: it moves all scores of a query.`;
}

export function headsWords({ inputs: { sizes, softmax } }: Scene): string {
  const { numHeads, headDim, valueDim } = sizes;
  if (numHeads === 1) return t`One head has one pattern of attention. It takes all of Q, K and V.`;
  const dealt = t`The N·D = ${numHeads * headDim} features of Q and K are dealt out to ${numHeads} bins of ${headDim}, the N·O = ${numHeads * valueDim} features of V to ${numHeads} bins of ${valueDim}.`;
  return `${dealt} ${softmax ? t`Each bin has scores and a softmax of its own.` : t`Each bin has scores of its own.`}`;
}

/** What stays if N·D is held and N is changed. */
export function divideWords({ inputs: { sizes } }: Scene): string {
  const width = sizes.numHeads * sizes.headDim;
  const splits = Array.from({ length: width }, (_, i) => i + 1).filter((heads) => width % heads === 0);
  const ways = splits.map((heads) => (heads === 1 ? t`1 head of ${width}` : t`${heads} heads of ${width / heads}`));
  return t`The ${counted(width, "feature")} of Q can be cut in ${counted(ways.length, "way")}: ${ways.join(", ")}. W_Q has ${counted(sizes.inputDim * width, "number")} each time: more heads cost nothing there, and give more maps of fewer features.`;
}

export function joinWords({ inputs: { sizes }, form }: Scene): string {
  const { positions, numHeads, valueDim, inputDim } = sizes;
  const width = numHeads * valueDim;
  const shape = form === "columns" ? `${width} × ${positions}` : `${positions} × ${width}`;
  const several =
    form === "columns"
      ? t`The ${numHeads} outputs, one below the other, are Y, ${shape}.`
      : t`The ${numHeads} outputs, side by side, are Y, ${shape}.`;
  const from = numHeads === 1 ? t`The head’s output is Y, ${shape}.` : several;
  return `${from} ${t`W_O mixes the ${counted(width, "feature")} and gives ${inputDim} again, so that a layer can follow a layer.`}`;
}

/** How far the numbers of both forms are apart. */
export function formsWords({ rows, columns }: Readonly<Record<Form, Steps>>): string {
  const numbersOf = ({ heads, y, out }: Steps) => [
    ...heads.flatMap(({ weights }) => weights.data),
    ...y.data,
    ...out.data,
  ];
  const { numbers, largest } = difference("both forms", numbersOf(columns), numbersOf(rows));
  const millionths = Math.ceil(largest * 1e6);
  const all = counted(numbers, "number");
  const agreement =
    largest === 0
      ? t`Turned over, all ${all} of P, Y and the output are equal.`
      : t`Turned over, all ${all} of P, Y and the output differ by less than ${counted(millionths + 1, "millionth")}.`;
  return t`headwise computes both: layout "BSE" has a row for each position, "BES" a column. ${agreement}`;
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
