// The first picture of the room, as HTML: the build writes it into the page, and the room draws it again.

import { graphemes } from "../../../model/graphemes.js";
import { headName, headsOf, rowOf } from "../../../model/heads.js";
import { asMarkup, readable } from "../../../model/names.js";
import { firstRepetition } from "../../../model/story.js";
import { UNKNOWN_CLASS, unknownTitle } from "../../shell/unknownMark.js";
import { t } from "../../../texts/t.js";
import { isBlind, namesOf, shownHead, type Seen } from "./seen.js";
import { hint, quoted, twinRows } from "./words.js";

/** The most tokens whose weights are printed as numbers. */
export const MOST_NUMBERS = 16;

/** Names are above their columns as they are, if there are few and none is longer than this. */
const SHORT = { names: 11, letters: 8 } as const;

/** The map of a head, and the rows of a word that occurs twice, with positions and without. */
export function picture(seen: Seen): string {
  const names = namesOf(seen);
  if (names.length === 0) return "";
  const twins = firstRepetition(seen.shown);
  const title = headName(shownHead(seen));
  const isLong = names.length > MOST_NUMBERS;
  const { unknown } = seen.shown;
  const rows = mapRows(seen, names, twins ?? []);
  const map = isLong
    ? `<div class="long-map"></div>`
    : weightsTable({ names, unknown, title: t`Weights of ${title}, in percent`, rows });
  return [
    `<div class="whole"><h2>${t`What each word looks at, in percent`} <small>${title}</small></h2>${map}</div>`,
    isLong ? "" : `<p class="reading" role="status">${hintMarkup(seen)}</p>`,
    twins ? twinsTable(seen, names, twins) : "",
  ].join("");
}

/** What stands below the map as long as no cell is pointed at. */
export function hintMarkup(seen: Seen): string {
  const what = isBlind(seen) ? "" : `<span data-how-to> ${t`Point at a number.`}</span>`;
  return `${asMarkup(hint(seen))}${what}`;
}

const MARK = ` class="${UNKNOWN_CLASS}"`;

interface Row {
  readonly name: string;
  readonly isUnknown?: boolean;
  readonly weights: ArrayLike<number>;
  readonly marked?: boolean;
  /** A line above the row, over all columns. */
  readonly above?: string;
}

interface Table {
  readonly names: readonly string[];
  /** The columns of tokens that the model does not know. */
  readonly unknown: readonly number[];
  readonly title: string;
  readonly rows: readonly Row[];
  /** Differences of weights have two colours, and a sign. */
  readonly signed?: boolean;
}

function mapRows(seen: Seen, names: readonly string[], marked: readonly number[]): Row[] {
  const { probs } = shownHead(seen);
  const { unknown } = seen.shown;
  return names.map((name, token) => ({ name, isUnknown: unknown.includes(token), weights: rowOf(probs, token), marked: marked.includes(token) })); // oxfmt-ignore
}

function twinsTable(seen: Seen, names: readonly string[], twins: readonly [number, number]): string {
  const { placed, unplaced, head, shown } = seen;
  const words = twinRows(seen, twins);
  const rows = [
    { above: words.on, encoding: placed },
    { above: words.off, encoding: unplaced },
  ].flatMap(({ above, encoding }) =>
    twins.map((token, index) => ({
      name: names[token]!,
      weights: rowOf(headsOf(encoding)[head]!.probs, token),
      ...(index === 0 && { above }),
    })),
  );
  const word = quoted(readable(shown.tokens[twins[0]]!));
  const title = t`The rows of ${word}, with positions and without, in percent`;
  return `<div class="twins"><h2>${asMarkup(t`The two rows of ${word}, positions on and off`)}</h2>${weightsTable({ names, unknown: shown.unknown, title, rows })}</div>`;
}

/** Weights as a table of whole percents. */
export function weightsTable({ names, unknown, title, rows, signed = false }: Table): string {
  const isShort = names.length <= SHORT.names && names.every((name) => name.length <= SHORT.letters);
  const kind = names.length > MOST_NUMBERS ? " dense" : isShort ? " short" : "";
  const columns = names.map(
    (name, token) =>
      `<th scope="col" translate="no" ${titleOf(name, unknown.includes(token))}><span${unknown.includes(token) ? MARK : ""}>${asMarkup(name)}</span></th>`,
  );
  const body = rows.map(({ name, isUnknown = false, weights, marked = false, above }, row) => {
    const cells = Array.from(weights, (weight, column) => cell(weight, { row, column, signed }));
    const line = above
      ? `<tr class="above"><th scope="rowgroup" colspan="${names.length + 1}">${asMarkup(above)}</th></tr>`
      : "";
    return `${line}<tr translate="no"${marked ? ' class="marked"' : ""}><th scope="row" ${titleOf(name, isUnknown)}>${isUnknown ? `<span${MARK}>${asMarkup(name)}</span>` : asMarkup(name)}</th>${cells.join("")}</tr>`;
  });
  return (
    `<table class="weights${kind}" aria-label="${asMarkup(title)}">` +
    `<colgroup><col style="width: ${nameWidth(rows)}em"><col span="${names.length}"></colgroup>` +
    `<thead><tr><td></td>${columns.join("")}</tr></thead><tbody>${body.join("")}</tbody></table>`
  );
}

/** The title of a heading: its whole name, and what to know about a word that the model does not know. */
function titleOf(name: string, isUnknown: boolean): string {
  return `title="${asMarkup(isUnknown ? unknownTitle(name) : name)}"`;
}

/** The width of the names of rows, in ems: whole words such as “example”, as far as the numbers leave room. */
function nameWidth(rows: readonly Row[]): number {
  const letters = Math.max(...rows.map(({ name }) => graphemes(name).length));
  return Math.round(10 * Math.min(Math.max(0.62 * letters + 0.7, 4.6), 7)) / 10;
}

function cell(weight: number, { row, column, signed }: { row: number; column: number; signed: boolean }): string {
  const number = Math.round(100 * weight);
  const sign = signed && number > 0 ? "+" : number < 0 ? "−" : "";
  const kind = number === 0 ? ' class="none"' : number < 0 ? ' class="less"' : "";
  const share = (100 * Math.sqrt(Math.abs(weight))).toFixed(1); // small weights are seen too
  return `<td${kind} style="--share:${share}%" data-row="${row}" data-column="${column}">${sign}${Math.abs(number)}</td>`;
}
