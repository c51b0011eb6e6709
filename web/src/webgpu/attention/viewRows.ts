import type { ResultTensor } from "../../attention/attentionResult.js";
import { ATTEND_VIEWS, type AttendView, type PlacedViews, type RowChoice, type Views } from "../../attention/views.js";
import { product } from "../../tensor/product.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { checkBytes } from "../plan/limits.js";
import { stridesOf } from "../plan/strides.js";
import { chosenOf, ofRows } from "./chosenRows.js";
import { moveRows, NOWHERE, type HeadArray } from "./moveRows.js";
import { handInRank } from "./result.js";

/** How a call gives its results. */
export type ResultForm = Parameters<typeof handInRank>[1];

/** Lists the kernels that copy what a call shows of its queries, keys, values and results of heads. */
export function viewRows(
  call: Call,
  form: ResultForm & { readonly views: Views },
  arrays: Readonly<Record<AttendView, HeadArray | undefined>>,
): Deliver<PlacedViews> {
  const views = ATTEND_VIEWS.flatMap((name) => {
    const choice = form.views[name];
    return choice ? [[name, copyRows(call, form, name, choice, arrays[name]!)] as const] : [];
  });
  return (mapped) => Object.fromEntries(views.map(([name, deliver]) => [name, deliver(mapped)]));
}

/** Copies chosen rows of chosen heads into a result, [B, heads, rows, width]. */
function copyRows(
  call: Call,
  form: ResultForm,
  name: string,
  choice: RowChoice,
  { extents, placeOf = (_, row) => row, ...from }: HeadArray,
): Deliver<ResultTensor<"float32">> {
  const [batchSize, numHeads, length, width] = extents;
  const { heads, rows } = chosenOf(choice, numHeads, length);
  const full = [batchSize, heads.length, rows.length, width];
  const span = viewRoom(call, form, name, full);
  const moves = {
    rows: ofRows(batchSize, rows, (b, n, row) => [b, placeOf(b, row) ?? NOWHERE, n]),
    heads: heads.flatMap((head, n) => [head, n]),
  };
  moveRows(call, from, { span, strides: stridesOf("BHSD", heads.length, rows.length, width) }, moves, width);
  return handInRank(call, form, span, full, "float32");
}

/** Room for a view. */
export function viewRoom(call: Call, { location }: ResultForm, name: string, shape: readonly number[]): Span {
  const bytes = 4 * product(shape);
  checkBytes(call.operation, `returns.${name}`, bytes, call.core.device.limits);
  return { ...call.resultRoom(bytes, location), bytes };
}
