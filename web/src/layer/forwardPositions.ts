import type { SequencePositions } from "../attention/callPositions.js";
import { OptionError, ShapeError } from "../base/errors.js";
import type { EngineCache } from "../cache/engineCache.js";
import { refusePlanes } from "../cache/readCachePositions.js";
import { refuseGivenPlaces } from "../cache/ringPlaces.js";
import { checkTableRows } from "../position/checkedAngles.js";
import type { CheckedAngles } from "../position/rotaryAngles.js";
import { readTokenPositions, type TokenPositions } from "../position/tokenPositions.js";
import type { OptionReader } from "../read/options.js";
import type { Rows } from "./contexts.js";
import type { ForwardProblem } from "./forwardProblem.js";
import type { LayerForm } from "./layerForm.js";

/** Where the tokens of a call stand, as its options say. */
export interface Places {
  /** Those of x, if they are given. */
  readonly queries: TokenPositions | undefined;
  /** Those of the call's own keys, if they are given. */
  readonly keys: TokenPositions | undefined;
  /** What the engine turns, or adds a position to: the tokens of x, and those of `key`. */
  readonly positions: TokenPositions | undefined;
  readonly keyPositions: TokenPositions | undefined;
}

/** @param contexts - the rows of keys */
export function readPlaces(
  options: OptionReader,
  layer: LayerForm,
  cache: EngineCache | undefined,
  rows: Rows,
  contexts: Rows,
): Places {
  const queries = readPositions(options, layer, cache, rows);
  const keys = readKeyPositions(options, layer, cache, contexts, queries);
  const turnsKeys = layer.turns !== undefined || cache?.form.rotary === true;
  return {
    queries,
    keys: options.has("key") ? keys : queries,
    positions: layer.usesPositions || turnsKeys ? queries : undefined,
    keyPositions: turnsKeys ? keys : undefined,
  };
}

/** Reads positions of the caller's own, and refuses what cannot go with them. */
function readPositions(
  options: OptionReader,
  { turns, usesPositions }: LayerForm,
  cache: EngineCache | undefined,
  rows: Rows,
): TokenPositions | undefined {
  const positions = readTokenPositions(options, rows, turns?.sections || cache?.form.sections ? 3 : undefined);
  if (!positions) return undefined;
  const byCache = cache?.form.rotary === true;
  const byAlibi = options.has("alibiSlopes");
  if (!usesPositions && !byCache && !byAlibi)
    throw options.refuse(
      "positions",
      "be absent: neither the layer nor a cache nor alibiSlopes uses them",
      "See the option position.",
    );
  refusePlanes(options, positions);
  if (cache) refuseGivenPlaces(options, cache.form);
  if ((turns || byCache || byAlibi) && options.has("key") && !options.has("keyPositions"))
    throw options.missing(
      "keyPositions",
      `positions are those of x, and ${byAlibi && !turns && !byCache ? "alibiSlopes need those of `key`" : "the keys of `key` are turned"}`,
    );
  return positions;
}

/** Reads the positions of the keys' own tokens, and refuses what cannot go with them. */
function readKeyPositions(
  options: OptionReader,
  { turns }: LayerForm,
  cache: EngineCache | undefined,
  keys: Rows,
  positions: TokenPositions | undefined,
): TokenPositions | undefined {
  const refuse = (why: string, hint: string) => options.refuse("keyPositions", `be absent ${why}`, hint);
  const planes = turns?.sections || cache?.form.sections ? 3 : undefined;
  const keyPositions = readTokenPositions(options, keys, planes, "keyPositions");
  if (!keyPositions) return undefined;
  if (!options.has("key")) throw refuse("without key", "Keys that come from x stand at positions.");
  if (!positions) throw refuse("without positions", "Say with `positions` where the queries stand.");
  if (!turns && !cache?.form.rotary && !options.has("alibiSlopes"))
    throw refuse("where keys are not turned, without alibiSlopes", "Nothing else reads them.");
  if (keyPositions.planes !== positions.planes)
    throw new ShapeError(
      `${options.operation}: keyPositions must have as many planes as positions, ` +
        `got ${keyPositions.planes} and ${positions.planes}`,
    );
  return keyPositions;
}

/** What ALiBi reads in a call without a cache. */
export function givenAlibi(queries: TokenPositions | undefined, keys: TokenPositions | undefined) {
  return queries && keys ? { alibiQueryPositions: queries.data, alibiKeyPositions: keys.data } : undefined;
}

/** Throws if a table of the layer has no row for a token. */
export function checkPlaces(
  operation: string,
  layer: LayerForm,
  sequences: readonly SequencePositions[],
  read: Placed,
): void {
  const { positions, keyPositions } = read;
  if (positions) checkGiven(operation, layer, sequences, positions.data, read);
  else if (layer.turns?.tables) checkTurned(operation, layer.turns, sequences, read);
  if (keyPositions) checkGivenKeys(operation, layer, sequences, keyPositions.data, read);
}

/** What the checks read of a call. */
type Placed = Pick<
  ForwardProblem,
  "ragged" | "cache" | "appendLengths" | "contextLength" | "attendOnly" | "positions" | "keyPositions"
>;

/** Throws if the layer's tables of cos and sin have no row for a given position of a key that is no padding. */
function checkGivenKeys(
  operation: string,
  { turns }: LayerForm,
  sequences: readonly SequencePositions[],
  data: Int32Array,
  { ragged, cache, appendLengths, contextLength }: Placed,
): void {
  if (!turns?.tables) return;
  const total = ragged ? contextLength : sequences.length * contextLength;
  sequences.forEach(({ keyLength }, n) => {
    const first = ragged ? ragged.key[n]! : n * contextLength;
    const count = cache ? (appendLengths?.[n] ?? contextLength) : keyLength;
    for (let plane = 0; plane < data.length; plane += total)
      checkTableRows(operation, turns, data.subarray(plane + first, plane + first + count), "keyPositions");
  });
}

/** Throws if a table of the layer has no row for a given position of a token that is no padding. */
function checkGiven(
  operation: string,
  { turns, positionRows }: LayerForm,
  sequences: readonly SequencePositions[],
  data: Int32Array,
  { ragged, appendLengths }: Placed,
): void {
  if (!turns?.tables && positionRows === undefined) return;
  const planes = turns?.tables ? 3 : 1;
  const { numQueries = 0 } = sequences[0] ?? {};
  const total = ragged ? ragged.query.at(-1)! : sequences.length * numQueries;
  sequences.forEach(({ queryLength }, n) => {
    const first = ragged ? ragged.query[n]! : n * numQueries;
    const count = Math.max(queryLength, appendLengths?.[n] ?? 0);
    for (let plane = 0; plane < planes && plane * total < data.length; ++plane) {
      const given = data.subarray(plane * total + first, plane * total + first + count);
      if (turns?.tables) checkTableRows(operation, turns, given);
      const outside = positionRows === undefined ? undefined : given.find((at) => at < 0 || at >= positionRows);
      if (outside !== undefined)
        throw new OptionError(
          `${operation}: positions must be rows of position.table, 0 to ${positionRows! - 1}, got ${outside}`,
        );
    }
  });
}

/** Throws if the layer's tables of cos and sin have no row for a query or for a new key. */
function checkTurned(
  operation: string,
  angles: CheckedAngles,
  sequences: readonly SequencePositions[],
  { cache, contextLength, appendLengths, attendOnly }: Placed,
): void {
  const check = (first: number, count: number) => {
    if (count > 0) checkTableRows(operation, angles, [first, first + count - 1]);
  };
  sequences.forEach(({ offset, queryLength, keyLength }, b) => {
    check(offset, queryLength);
    if (!cache) check(0, keyLength);
    else if (!attendOnly) check(cache.appended[b]!, appendLengths?.[b] ?? contextLength);
  });
}
