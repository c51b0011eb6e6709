import type { Matrix } from "../../shell/matrix.js";
import { counted, grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { defined } from "./definition.js";
import { LINE, LINES } from "./lines.js";
import { placeName, type Scene } from "./parts.js";

/** The token whose row of X is changed to see what depends on it. */
const CHANGED = 1;
/** Differences below this are rounding. */
const ROUNDING = 1e-4;

/** What stays in its row, and what goes into other rows: counted, with another vector for one token. */
export function localWords({ inputs, form }: Pick<Scene, "inputs" | "form">): string {
  const { x } = inputs;
  const data = x.data.map((value, i) => (Math.floor(i / x.columns) === CHANGED ? value + 1 + (i % 3) : value));
  const [before, after] = [defined(inputs), defined({ ...inputs, x: { ...x, data } })];
  const changed = changedRows(before.y, after.y);
  return t`Another vector for ${placeName(inputs, "S", CHANGED)} in X changes one ${LINE[form]} of Q, K and V, its own. Only P·V mixes tokens: of the ${x.rows} ${LINES[form]} of Y it changes ${changed}.`;
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
  const [line, lines] = [LINE[form], LINES[form]];
  const mask = inputs.causal || inputs.excludeSelf;
  if (!oneQuery)
    return mask
      ? t`Each ${line} of P belongs to one query. If the weights did not depend on the query, every token would get the same ${line} of Y, but for the mask. “One query for all” shows it.`
      : t`Each ${line} of P belongs to one query. If the weights did not depend on the query, every token would get the same ${line} of Y. “One query for all” shows it.`;
  return areEqual(parts.p) && areEqual(parts.yn)
    ? t`W_Q is 0 here, so all queries are equal. So are all ${lines} of P and of Y: attention gives every token the same.`
    : t`W_Q is 0 here, so all queries are equal. The ${lines} of P differ only because the mask hides other keys from each token.`;
}

function areEqual({ rows, columns, data }: Matrix): boolean {
  const apart = (i: number) => Math.abs(data[i]! - data[i % columns]!);
  return Array.from({ length: rows * columns }, (_, i) => apart(i)).every((difference) => difference < ROUNDING);
}

/** What it would cost to put the values side by side instead. */
export function concatenationWords({ inputs: { sizes } }: Pick<Scene, "inputs">): string {
  const { positions: S, valueDim: O, numHeads: N, inputDim: I } = sizes;
  return t`Why not put the values side by side? For ${counted(S, "token")} that is S·O = ${grouped(S * O)} numbers in each head instead of ${grouped(O)}. W_O would need ${grouped(S * N * O * I)} numbers instead of ${grouped(N * O * I)}, and fit only this number of tokens. And every token would get the same.`;
}
