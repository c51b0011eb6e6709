import type { Matrix } from "../../shell/matrix.js";
import { defined } from "./definition.js";
import { placeName, type Scene } from "./parts.js";
import { count } from "./words.js";

/** The token whose row of X is changed to see what depends on it. */
const CHANGED = 1;
/** Differences below this are rounding. */
const ROUNDING = 1e-4;

/** What stays in its row, and what goes into other rows: counted, with another vector for one token. */
export function localWords({ inputs, form }: Pick<Scene, "inputs" | "form">): string {
  const { x } = inputs;
  const data = x.data.map((value, i) => (Math.floor(i / x.columns) === CHANGED ? value + 1 + (i % 3) : value));
  const [before, after] = [defined(inputs), defined({ ...inputs, x: { ...x, data } })];
  const line = form === "columns" ? "column" : "row";
  const changed = changedRows(before.y, after.y);
  return `Another vector for ${placeName(inputs, "S", CHANGED)} in X changes one ${line} of Q, K and V, its own. Only P·V mixes tokens: of the ${count(x.rows, line)} of Y it changes ${changed}.`;
}

export function changedRows(one: Matrix, other: Matrix): number {
  const rows = one.data.flatMap((value, i) =>
    Math.abs(value - other.data[i]!) > ROUNDING ? [Math.floor(i / one.columns)] : [],
  );
  return new Set(rows).size;
}

/** What every token gets if the weights do not depend on who asks. */
export function queryWords(
  { parts, inputs, form }: Pick<Scene, "parts" | "inputs" | "form">,
  oneQuery: boolean,
): string {
  const line = form === "columns" ? "column" : "row";
  const mask = inputs.causal || inputs.excludeSelf;
  if (!oneQuery)
    return `Each ${line} of P belongs to one query. If the weights did not depend on the query, every token would get the same ${line} of Y${mask ? ", but for the mask" : ""}. “One query for all” shows it.`;
  return areEqual(parts.p) && areEqual(parts.yn)
    ? `W_Q is 0 here, so all queries are equal. So are all ${line}s of P and of Y: attention gives every token the same.`
    : `W_Q is 0 here, so all queries are equal. The ${line}s of P differ only because the mask hides other keys from each token.`;
}

function areEqual({ rows, columns, data }: Matrix): boolean {
  const apart = (i: number) => Math.abs(data[i]! - data[i % columns]!);
  return Array.from({ length: rows * columns }, (_, i) => apart(i)).every((difference) => difference < ROUNDING);
}

/** What it would cost to put the values side by side instead. */
export function concatenationWords({ inputs: { sizes } }: Pick<Scene, "inputs">): string {
  const { positions: S, valueDim: O, numHeads: N, inputDim: I } = sizes;
  const numbers = (value: number) => value.toLocaleString("en");
  return `Why not put the values side by side? For ${count(S, "token")} that is S·O = ${numbers(S * O)} numbers in each head instead of ${numbers(O)}. W_O would need ${numbers(S * N * O * I)} numbers instead of ${numbers(N * O * I)}, and fit only this number of tokens. And every token would get the same.`;
}
