import { are, listed, percent } from "../../shell/amounts.js";
import { counted, decimal, grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { kvHeadsOf } from "./options.js";
import { inForce, NO_SINK, UNBOUNDED, type Settings } from "./settings.js";
import {
  count,
  tiling,
  visibility,
  visibleIn,
  visibleTiles,
  type Seen,
  type Tiling,
  type Visibility,
} from "./tiles.js";

/** Small tiles, so that small examples have several. */
export const TILE = 4;
/** A long sequence, and tiles of the size that engines use. */
const LONG = 8192;
const LONG_TILE = 64;
const ROWS_NAMED = 8;

/** What the options let a query see. What formulas let it see is known from scores alone (`seenInScores`). */
export function seenBy(settings: Settings): Visibility {
  const end = (side: number) => (side >= UNBOUNDED ? Infinity : side);
  const options = inForce(settings);
  return visibility({ ...options, left: end(options.left), right: end(options.right) });
}

export function tilesOf(seen: Seen): Tiling {
  return tiling(seen, TILE, TILE);
}

/** A sentence about one head, if heads differ. */
export function ofHead(sentence: string, head: number | undefined): string {
  return head === undefined || sentence === "" ? sentence : t`Head ${head + 1}: ${sentence}`;
}

/** "A query sees 1 to 8 of 24 keys: 164 of 576 pairs, 28 %." */
export function finding({ queries, keys }: Settings, visible: Seen): string {
  const seen = keysSeen(visible);
  const sum = seen.reduce((total, row) => total + row, 0);
  const pairs = queries * keys;
  const [what, share] = [whatQueriesSee(seen, keys), percent(sum, pairs)];
  return pairs === 1
    ? t`${what}: ${sum} of 1 pair, ${share}.`
    : t`${what}: ${grouped(sum)} of ${grouped(pairs)} pairs, ${share}.`;
}

function whatQueriesSee(seen: readonly number[], keys: number): string {
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  if (low < high)
    return keys === 1 ? t`A query sees ${low} to ${high} of 1 key` : t`A query sees ${low} to ${high} of ${keys} keys`;
  const who = seen.length === 1 ? t`The only query` : t`Every query`;
  if (high === 0) return t`${who} sees no key`;
  if (high < keys) return t`${who} sees ${high} of ${keys} keys`;
  return keys === 1 ? t`${who} sees the only key` : t`${who} sees all ${keys} keys`;
}

/** How many keys each query sees. */
function keysSeen(seen: Seen): number[] {
  return Array.from({ length: seen.queries }, (_, query) => visibleIn(seen, query));
}

/** The rows that see nothing, and what becomes of them. Rows count from 0, as in the map. */
export function emptyWords(settings: Settings, seen: Seen): string {
  const rows = [...keysSeen(seen).entries()].filter(([, keys]) => keys === 0).map(([row]) => row);
  if (rows.length === 0) return t`No row is empty: every query sees a key.`;
  const named = rows.length > ROWS_NAMED ? `${rows.slice(0, ROWS_NAMED).join(", ")} …` : listed(rows);
  const rule = EMPTY_ROWS[settings.emptyRows];
  return rows.length === 1
    ? t`1 row sees nothing (${named}; rows count from 0, as in the map). By the rule “${rule}” its output is ${outcome(settings)}.`
    : t`${rows.length} rows see nothing (${named}; rows count from 0, as in the map). By the rule “${rule}” their outputs are ${outcome(settings)}.`;
}

/** What the rules for rows that see nothing are called. */
export const EMPTY_ROWS: Readonly<Record<Settings["emptyRows"], string>> = {
  zero: t`zero`,
  nan: t`nan`,
  uniform: t`uniform`,
};

function outcome(settings: Settings): string {
  const { emptyRows, keys, keyLength } = inForce(settings);
  const averaged = Math.min(keyLength, keys);
  if (emptyRows === "nan") return "NaN";
  if (emptyRows === "zero") return t`zero`;
  if (averaged === 0) return t`zero, because there is no key to average`;
  return averaged === 1
    ? t`the mean of the values of the only key that is no padding`
    : t`the mean of the values of all ${averaged} keys that are no padding`;
}

/** Whether a weight is shown as hidden. Rows that see nothing show the weights of their rule. */
export function hides(settings: Settings, seen: Seen): (query: number, key: number) => boolean {
  const { emptyRows, keyLength, keys } = inForce(settings);
  const averaged = emptyRows === "uniform" ? Math.min(keyLength, keys) : 0;
  return (query, key) => (visibleIn(seen, query) === 0 ? key >= averaged : visibleIn(seen, query, key, key + 1) === 0);
}

export function groupWords(settings: Settings): string {
  const { heads, kvHeads } = settings;
  const groups = kvHeadsOf(settings);
  const corrected =
    kvHeads > heads
      ? t`There cannot be more key heads than query heads: ${are(groups)} used.`
      : kvHeads !== groups
        ? t`${counted(heads, "query head")} cannot share ${kvHeads} key heads evenly: ${are(groups)} used.`
        : "";
  return [corrected, sharing(heads, groups)].filter(Boolean).join(" ");
}

function sharing(heads: number, groups: number): string {
  if (heads === 1) return t`The only query head has keys and values of its own.`;
  if (heads === groups) return t`Each of ${heads} query heads has keys and values of its own.`;
  const size = heads / groups;
  return groups === 1
    ? t`All ${heads} query heads share one key head: the cache of keys and values is ${size} times smaller.`
    : t`${size} query heads share each of ${groups} key heads: the cache of keys and values is ${size} times smaller.`;
}

/** What the sink takes, and over how many keys the first head spreads. `probs` is [heads, queries, keys]; `seen` is of the first head. */
export function spreadWords(probs: Float32Array, { keys, sink }: Settings, seen: Seen): string {
  const rows = [...keysSeen(seen).entries()]
    .filter(([, count]) => count > 0)
    .map(([row]) => spreadOf(probs.subarray(row * keys, (row + 1) * keys)))
    .filter(({ kept }) => !Number.isNaN(kept));
  if (rows.length === 0) return "";
  const mean = (of: (row: Spread) => number) => rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
  const over = decimal(Math.exp(mean(({ entropy }) => entropy)), 1);
  if (sink <= NO_SINK)
    return t`Head 1 spreads a row as if evenly over ${over} keys on average (the exponential of its mean entropy).`;
  const taken = percent(1 - mean(({ kept }) => kept), 1);
  return t`In head 1 the sink takes ${taken} of a row on average. Head 1 spreads the rest of a row as if evenly over ${over} keys on average (the exponential of its mean entropy).`;
}

/** The rows that a formula spoiled: it gave NaN or +∞ for a pair that they see. */
export function spoiledWords(probs: Float32Array, { queries, keys, heads }: Settings, seen: readonly Seen[]): string {
  let spoiled = 0;
  for (let head = 0; head < heads; head++)
    for (let query = 0; query < queries; query++) {
      const first = (head * queries + query) * keys;
      const isEmpty = visibleIn(seen[head]!, query) === 0;
      spoiled += Number(!isEmpty && probs.subarray(first, first + keys).some(Number.isNaN));
    }
  if (spoiled === 0) return "";
  const rows = counted(heads * queries, "row");
  return spoiled === 1
    ? t`The score formula gives NaN or +∞ for a pair that is visible: 1 row of all ${rows} of all heads is spoiled.`
    : t`The score formula gives NaN or +∞ for a pair that is visible: ${grouped(spoiled)} rows of all ${rows} of all heads are spoiled.`;
}

interface Spread {
  /** The part of the row that keys get. The sink has the rest. */
  readonly kept: number;
  /** The entropy of that part, as a distribution. */
  readonly entropy: number;
}

function spreadOf(row: Float32Array): Spread {
  const kept = row.reduce((sum, p) => sum + p, 0);
  const entropy = row.reduce((sum, p) => (p > 0 ? sum - (p / kept) * Math.log(p / kept) : sum), 0);
  return { kept, entropy };
}

export function tileWords({ states }: Tiling): string {
  const [whole, edge, skipped] = [count(states, "whole"), count(states, "edge"), count(states, "skipped")];
  return t`Of ${counted(states.length, "tile")}, ${are(whole)} computed whole, ${are(edge)} mixed, and ${are(skipped)} skipped.`;
}

/** What the states of tiles are called. */
export const STATES = { whole: t`all`, edge: t`mixed`, skipped: t`none` } as const;

/** The same picture as text: the state of each tile of a row of tiles. */
export function tileRow({ columns, states }: Tiling, row: number): string[] {
  return states.slice(row * columns, (row + 1) * columns).map((state) => STATES[state]);
}

/** What a row of tiles stands for: "queries 4 to 7", "query 8". */
export function tileSpan(noun: "query" | "key", index: number, length: number): string {
  const [first, last] = [index * TILE, Math.min((index + 1) * TILE, length) - 1];
  if (noun === "query") return first === last ? t`query ${first}` : t`queries ${first} to ${last}`;
  return first === last ? t`key ${first}` : t`keys ${first} to ${last}`;
}

/** The same rules at length. With formulas: how headwise finds such tiles. */
export function longWords(settings: Settings): string {
  if (settings.rules === "formulas")
    return t`The picture counts the pairs. headwise does not: it concludes from intervals of the formula, so it may ask the pairs of a tile that is all or none.`;
  const long = seenBy({ ...settings, queries: LONG, keys: LONG, keyLength: LONG });
  const computed = visibleTiles(long, LONG_TILE);
  const tiles = (LONG / LONG_TILE) ** 2;
  return t`With ${grouped(LONG)} queries and as many keys, none of them padding, these rules leave something to compute in ${grouped(computed)} of ${counted(tiles, "tile")} of ${LONG_TILE} × ${LONG_TILE} pairs: ${percent(computed, tiles)}.`;
}

/** What is computed, and how to change it. */
export function modeWords({ rules }: Settings): string {
  return rules === "formulas"
    ? t`These formulas are computed. The options that they can say are off.`
    : t`These formulas mean the same as the options. Type in a field, and the formulas are computed instead.`;
}

/** What the pictures show while a formula is wrong: the last ones that were right, if they still are. */
export function staleWords({ isWrong, isPlain }: { readonly isWrong: boolean; readonly isPlain: boolean }): string {
  if (!isWrong) return "";
  return isPlain
    ? t`Until this is right, the pictures are drawn without formulas.`
    : t`Until this is right, the pictures show the last formula that was.`;
}

/** What a formula may say: a term and its meaning. */
export const LANGUAGE: readonly (readonly [term: string, words: string])[] = [
  ["s", t`the score so far; only in score`],
  ["q, k", t`the positions of query and key`],
  ["i, j", t`their rows, from 0`],
  ["h, g, b", t`query head, key head, batch, from 0`],
  ["Sq, Skv, D", t`the numbers of queries, of keys, and of features of a head`],
  ["+ - * / % **", t`arithmetic, as in JavaScript`],
  ["< <= > >= == !=", t`comparisons`],
  ["&& || !  a ? b : c", t`and, or, not, a choice`],
  ["abs min max clamp floor sign sqrt exp log pow tanh sin cos", t`functions`],
  ["list[k]  table[h][k]", t`a number of a parameter; 0 outside of the list`],
  ["Infinity", t`a score of -Infinity hides the pair`],
];
