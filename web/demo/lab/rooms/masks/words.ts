import { are, listed, percent } from "../../shell/amounts.js";
import { counted, decimal } from "../../shell/numbers.js";
import { kvHeadsOf } from "./options.js";
import { NO_SINK, UNBOUNDED, type Settings } from "./settings.js";
import { count, tiling, visibility, visibleIn, visibleTiles, type Tiling, type Visibility } from "./tiles.js";

/** Small tiles, so that small examples have several. */
export const TILE = 4;
/** A long sequence, and tiles of the size that engines use. */
const LONG = 8192;
const LONG_TILE = 64;
const ROWS_NAMED = 8;

export function seenBy(settings: Settings): Visibility {
  const end = (side: number) => (side >= UNBOUNDED ? Infinity : side);
  return visibility({ ...settings, left: end(settings.left), right: end(settings.right) });
}

export function tilesOf(settings: Settings): Tiling {
  return tiling(seenBy(settings), TILE, TILE);
}

/** "A query sees 1 to 8 of 24 keys: 164 of 576 pairs, 28 %." */
export function finding(settings: Settings): string {
  const { queries, keys } = settings;
  const seen = keysSeen(settings);
  const visible = seen.reduce((sum, row) => sum + row, 0);
  const pairs = queries * keys;
  return `${whatQueriesSee(seen, keys)}: ${visible.toLocaleString("en")} of ${counted(pairs, "pair")}, ${percent(visible, pairs)}.`;
}

function whatQueriesSee(seen: readonly number[], keys: number): string {
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  if (low < high) return `A query sees ${low} to ${high} of ${counted(keys, "key")}`;
  const who = seen.length === 1 ? "The only query" : "Every query";
  if (high === 0) return `${who} sees no key`;
  if (high < keys) return `${who} sees ${high} of ${keys} keys`;
  return `${who} sees ${keys === 1 ? "the only key" : `all ${keys} keys`}`;
}

/** How many keys each query sees. */
function keysSeen(settings: Settings): number[] {
  const seen = seenBy(settings);
  return Array.from({ length: settings.queries }, (_, query) => visibleIn(seen, query));
}

/** The rows that see nothing, and what becomes of them. Rows count from 0, as in the map. */
export function emptyWords(settings: Settings): string {
  const rows = [...keysSeen(settings).entries()].filter(([, keys]) => keys === 0).map(([row]) => row);
  if (rows.length === 0) return "No row is empty: every query sees a key.";
  const named = rows.length > ROWS_NAMED ? `${rows.slice(0, ROWS_NAMED).join(", ")} …` : listed(rows);
  const [row, outputs, is] =
    rows.length === 1 ? ["row sees", "its output", "is"] : ["rows see", "their outputs", "are"];
  return `${rows.length} ${row} nothing (${named}; rows count from 0, as in the map). By the rule “${settings.emptyRows}” ${outputs} ${is} ${outcome(settings)}.`;
}

function outcome({ emptyRows, keys, keyLength }: Settings): string {
  const averaged = Math.min(keyLength, keys);
  if (emptyRows === "nan") return "NaN";
  if (emptyRows === "zero") return "zero";
  return averaged === 0
    ? "zero, because there is no key to average"
    : `the mean of the values of ${averaged === 1 ? "the only key" : `all ${averaged} keys`} that are no padding`;
}

/** Whether a weight is shown as hidden. Rows that see nothing show the weights of their rule. */
export function hides(settings: Settings): (query: number, key: number) => boolean {
  const seen = seenBy(settings);
  const averaged = settings.emptyRows === "uniform" ? Math.min(settings.keyLength, settings.keys) : 0;
  return (query, key) => (visibleIn(seen, query) === 0 ? key >= averaged : visibleIn(seen, query, key, key + 1) === 0);
}

export function groupWords(settings: Settings): string {
  const { heads, kvHeads } = settings;
  const groups = kvHeadsOf(settings);
  const corrected =
    kvHeads > heads
      ? `There cannot be more key heads than query heads: ${groups} ${groups === 1 ? "is" : "are"} used. `
      : kvHeads !== groups
        ? `${counted(heads, "query head")} cannot share ${kvHeads} key heads evenly: ${are(groups)} used. `
        : "";
  return corrected + sharing(heads, groups);
}

function sharing(heads: number, groups: number): string {
  if (heads === 1) return "The only query head has keys and values of its own.";
  if (heads === groups) return `Each of ${heads} query heads has keys and values of its own.`;
  const size = heads / groups;
  const who =
    groups === 1
      ? `All ${heads} query heads share one key head`
      : `${size} query heads share each of ${groups} key heads`;
  return `${who}: the cache of keys and values is ${size} times smaller.`;
}

/** What the sink takes, and over how many keys head 0 spreads. `probs` is [heads, queries, keys]. */
export function spreadWords(probs: Float32Array, settings: Settings): string {
  const { keys, sink } = settings;
  const rows = [...keysSeen(settings).entries()]
    .filter(([, seen]) => seen > 0)
    .map(([row]) => spreadOf(probs.subarray(row * keys, (row + 1) * keys)));
  if (rows.length === 0) return "";
  const mean = (of: (row: Spread) => number) => rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
  const over = decimal(Math.exp(mean(({ entropy }) => entropy)), 1);
  const taken =
    sink > NO_SINK ? `In head 0 the sink takes ${percent(1 - mean(({ kept }) => kept), 1)} of a row on average. ` : "";
  return `${taken}Head 0 spreads ${sink > NO_SINK ? "the rest of a row" : "a row"} as if evenly over ${over} keys on average (the exponential of its mean entropy).`;
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

export function tileWords(settings: Settings): string {
  const { states } = tilesOf(settings);
  const [whole, edge, skipped] = [count(states, "whole"), count(states, "edge"), count(states, "skipped")];
  return `Of ${counted(states.length, "tile")}, ${are(whole)} computed whole, ${counted(edge, "lies", "lie")} on an edge, and ${are(skipped)} skipped.`;
}

/** The same rules at length. */
export function longWords(settings: Settings): string {
  const long = seenBy({ ...settings, queries: LONG, keys: LONG, keyLength: LONG });
  const computed = visibleTiles(long, LONG_TILE);
  const tiles = (LONG / LONG_TILE) ** 2;
  return (
    `With ${LONG.toLocaleString("en")} queries and as many keys, none of them padding, these rules leave something to compute in ` +
    `${computed.toLocaleString("en")} of ${counted(tiles, "tile")} of ${LONG_TILE} × ${LONG_TILE} pairs: ${percent(computed, tiles)}.`
  );
}
