import { OptionError, ShapeError } from "../base/errors.js";
import type { CallArguments } from "../read/callArguments.js";
import { argument, isList, type NumberList } from "../read/options.js";
import type { CacheForm } from "./cacheProblem.js";
import { droppedTokens } from "./heldTokens.js";
import { tokenCounts } from "./tokenRange.js";

/** The tokens that stay in a cache, for the engines. */
export interface KeptTokens {
  /** `[B]` The first from[b] tokens of batch b stay where they are. */
  readonly from: Int32Array;
  /** `[B]` How many of the later tokens stay. */
  readonly counts: Int32Array;
  /** Which ones, batch after batch: row i is the token at position from[b] + i. Ascending in each batch. */
  readonly rows: Int32Array;
}

/** The later tokens that stay, for each batch. */
export function rowsOfBatches({ counts, rows }: Pick<KeptTokens, "counts" | "rows">): Int32Array[] {
  let at = 0;
  return Array.from(counts, (count) => rows.subarray(at, (at += count)));
}

/** What is known of a cache at the call's turn. */
interface Cached {
  readonly form: Pick<CacheForm, "ring">;
  readonly appended: readonly number[];
}

/** The rows to keep: the same for all batches, or a list for each batch. */
export type KeptRows = NumberList | readonly NumberList[];

/**
 * Reads the arguments of `keep`. The function it returns checks them against what the cache holds. Call it when it is the
 * call's turn.
 */
export function keptTokens(
  call: CallArguments,
  givenFrom: unknown,
  givenRows: unknown,
  batchSize: number,
): (cache: Cached) => KeptTokens {
  const fromOf = tokenCounts(call, "from", givenFrom);
  const lists = rowLists(call, givenRows, batchSize);
  return ({ form, appended }) => {
    const from = fromOf(appended).map((position, b) => Math.min(position, appended[b]!));
    lists.forEach((rows, b) => {
      const left = appended[b]! - from[b]!;
      const outside = rows.findIndex((row) => row >= left);
      if (outside >= 0)
        throw new OptionError(
          `${call.operation}: rows must be below the ${left} tokens that batch ${b} holds from position ${from[b]} on, ` +
            `got ${rows[outside]}`,
        );
    });
    const counts = Int32Array.from(lists, (rows) => rows.length);
    assertRingHolds(call, form, appended, (b) => from[b]! + counts[b]!);
    return { from, counts, rows: joined(lists) };
  };
}

/** The same for `remove`: all tokens before `from` and from `to` on stay. */
export function tokensWithout(
  call: CallArguments,
  givenFrom: unknown,
  givenTo: unknown,
): (cache: Cached) => KeptTokens {
  const [fromOf, toOf] = [tokenCounts(call, "from", givenFrom), tokenCounts(call, "to", givenTo)];
  return ({ form, appended }) => {
    const [starts, ends] = [fromOf(appended), toOf(appended)];
    const wrong = starts.findIndex((start, b) => start > ends[b]!);
    if (wrong >= 0)
      throw new OptionError(`${call.operation}: from must be at most to, got ${starts[wrong]} and ${ends[wrong]}`);
    const from = starts.map((start, b) => Math.min(start, appended[b]!));
    const to = ends.map((end, b) => Math.min(end, appended[b]!));
    const counts = to.map((end, b) => appended[b]! - end);
    assertRingHolds(call, form, appended, (b) => from[b]! + counts[b]!);
    const lists = Array.from(counts, (count, b) => Int32Array.from({ length: count }, (_, i) => to[b]! - from[b]! + i));
    return { from, counts, rows: joined(lists) };
  };
}

/** Whether every token stays where it is. */
export function keepsAll(tokens: KeptTokens, appended: readonly number[]): boolean {
  const lists = rowsOfBatches(tokens);
  return appended.every(
    (total, b) => tokens.from[b]! + lists[b]!.length === total && lists[b]!.every((row, n) => row === n),
  );
}

/** A list of rows for every batch. */
function rowLists(call: CallArguments, given: unknown, batchSize: number): readonly Int32Array[] {
  const read = (name: string, value: unknown) => {
    const reader = argument(call, name, value);
    const rows = reader.integers(name, { min: 0 });
    if (!rows) throw reader.missing(name, "a list of rows, counted from position `from` on");
    const wrong = rows.findIndex((row, i) => i > 0 && row <= rows[i - 1]!);
    if (wrong < 0) return rows;
    throw new OptionError(
      `${call.operation}: ${name} must ascend, got ${rows[wrong - 1]} before ${rows[wrong]} at ${name}[${wrong}]`,
      { hint: "The tokens of a branch stay in the order in which they were appended." },
    );
  };
  const nested = call.guarded("rows", () => (isNested(given) ? given : undefined));
  if (!nested) return Array<Int32Array>(batchSize).fill(read("rows", given));
  const checkLength = (length: number) => {
    if (length !== batchSize)
      throw new ShapeError(`${call.operation}: rows must have a list for each of ${batchSize} batches, got ${length}`);
  };
  return call.list("rows", nested, checkLength, (list, b) => read(`rows[${b}]`, list));
}

function isNested(given: unknown): given is object {
  return Array.isArray(given) && given.some(isList);
}

/** Throws if a ring has dropped tokens that it would hold with fewer tokens. */
function assertRingHolds(
  { operation }: CallArguments,
  form: Pick<CacheForm, "ring">,
  appended: readonly number[],
  leftOf: (b: number) => number,
): void {
  const b = appended.findIndex((total, n) => droppedTokens(form, total, n) > 0 && leftOf(n) < total);
  if (b >= 0)
    throw new OptionError(
      `${operation}: batch ${b} of a ring has dropped tokens: with ${leftOf(b)} tokens it would hold them again`,
      { hint: "A ring drops its oldest tokens itself. A cache without ring can be edited at any time." },
    );
}

function joined(lists: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(lists.reduce((count, { length }) => count + length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}
