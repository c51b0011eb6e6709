import type { Span } from "./bins.js";
import { texts } from "./texts.js";
import type { HiddenRule } from "./visibility.js";
import { named, percent, type Tokens } from "./words.js";

/** A weight, drawn as a line from a query to a key. */
export interface Link {
  readonly head: number;
  readonly query: number;
  readonly key: number;
  readonly weight: number;
}

/** Selected tokens of both columns, by index. */
export interface TokenSelection {
  readonly queries: readonly number[];
  readonly keys: readonly number[];
}

/** Which links are drawn. */
export interface LinkFilter {
  readonly heads: readonly number[];
  readonly queries: Span;
  readonly selection: TokenSelection;
  readonly threshold: number;
  readonly rule: HiddenRule | undefined;
}

/** The links of the rows that have arrived, weakest first. A column without a selection counts as wholly selected. */
export function linksOf(
  rowOf: (head: number, query: number) => Float32Array | undefined,
  { heads, queries, selection, threshold, rule }: LinkFilter,
): Link[] {
  const links: Link[] = [];
  const isQueryWanted = wanted(selection.queries);
  const isKeyWanted = wanted(selection.keys);
  for (const head of heads) {
    for (let query = queries.from; query < queries.to; ++query) {
      const row = isQueryWanted(query) ? rowOf(head, query) : undefined;
      row?.forEach((weight, key) => {
        if (weight < threshold || !Number.isFinite(weight) || !isKeyWanted(key) || rule?.(query, key, head)) return;
        if (weight > 0) links.push({ head, query, key, weight });
      });
    }
  }
  return links.sort((a, b) => a.weight - b.weight);
}

function wanted(tokens: readonly number[]): (token: number) => boolean {
  const set = new Set(tokens);
  return (token) => set.size === 0 || set.has(token);
}

const TOLD = 3;

/** A sentence about the strongest links. */
export function linkSentence(
  links: readonly Link[],
  selection: TokenSelection,
  tokens: Tokens,
  headName: (head: number) => string,
): string {
  if (links.length === 0) return texts().noLink;
  const strongest = links.slice(-TOLD).toReversed();
  const nameOf = { query: (at: number) => named("query", tokens.queries, at), key: (at: number) => named("key", tokens.keys, at) }; // oxfmt-ignore
  const query = only(selection.queries);
  const key = query === undefined ? only(selection.keys) : undefined;
  const list = strongest.map((link) => {
    const from = query === undefined ? nameOf.query(link.query) : "";
    const to = key === undefined ? nameOf.key(link.key) : "";
    return texts().link(from, to, percent(link.weight), headName(link.head));
  });
  const of = query === undefined ? "" : nameOf.query(query);
  return texts().links(of, key === undefined ? "" : nameOf.key(key), list.join(", "));
}

function only(tokens: readonly number[]): number | undefined {
  return tokens.length === 1 ? tokens[0] : undefined;
}
