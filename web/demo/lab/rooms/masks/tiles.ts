/** Which pairs are visible. */
export interface Seen {
  readonly queries: number;
  readonly keys: number;
  /** How many of the keys from `from` to `to − 1` a query sees. */
  readonly count: (query: number, from: number, to: number) => number;
}

/** Which keys a query row may see: a range, perhaps without its own position. */
export interface Visibility extends Seen {
  readonly range: (query: number) => readonly [from: number, to: number];
  /** The hidden key inside the range; undefined if there is none. */
  readonly hole: (query: number) => number | undefined;
}

export interface VisibilityRules {
  readonly queries: number;
  readonly keys: number;
  readonly keyLength: number;
  readonly causal: string;
  readonly left: number;
  readonly right: number;
  readonly excludeSelf: boolean;
}

/** The rules of the package. `left` and `right` may be Infinity. */
export function visibility({
  queries,
  keys,
  keyLength,
  causal,
  left,
  right,
  excludeSelf,
}: VisibilityRules): Visibility {
  const length = Math.min(keyLength, keys);
  const offset = causal === "lower-right" ? length - queries : 0;
  const clamp = (key: number) => Math.min(Math.max(key, 0), length);
  const range = (query: number): readonly [number, number] => {
    const position = query + offset;
    const last = Math.min(position + right, causal === "off" ? Infinity : position);
    const [from, to] = [clamp(position - left), clamp(last + 1)];
    return from < to ? [from, to] : [0, 0];
  };
  const hole = (query: number) => (excludeSelf ? query + offset : undefined);
  return {
    keys,
    queries,
    range,
    hole,
    count(query, from, to) {
      const [first, end] = range(query);
      const [low, high] = [Math.max(first, from), Math.min(end, to)];
      const own = hole(query);
      return Math.max(high - low, 0) - Number(own !== undefined && own >= low && own < high);
    },
  };
}

/** What a head sees, by its scores [heads, queries, keys]: hidden pairs have −∞. */
export function seenInScores(
  scores: Float32Array,
  { queries, keys }: { readonly queries: number; readonly keys: number },
  head: number,
): Seen {
  const own = scores.subarray(head * queries * keys, (head + 1) * queries * keys);
  const count = (query: number, from: number, to: number) =>
    own.subarray(query * keys + from, query * keys + Math.min(to, keys)).filter((score) => score !== -Infinity).length;
  return { queries, keys, count };
}

/** How many of the keys from `from` to `to − 1` a row sees. */
export function visibleIn(seen: Seen, query: number, from = 0, to = Infinity): number {
  return seen.count(query, from, to);
}

/** "skipped": no pair is visible. "edge": some pairs are, so each one is checked. "whole": all pairs are. */
export type TileState = "skipped" | "edge" | "whole";

export interface Tiling {
  readonly rows: number;
  readonly columns: number;
  readonly states: readonly TileState[];
}

export function tiling(seen: Seen, tileQueries: number, tileKeys: number): Tiling {
  const [rows, columns] = [Math.ceil(seen.queries / tileQueries), Math.ceil(seen.keys / tileKeys)];
  const states = Array.from({ length: rows * columns }, (_, index) => {
    const firstQuery = Math.floor(index / columns) * tileQueries;
    const firstKey = (index % columns) * tileKeys;
    const endKey = Math.min(firstKey + tileKeys, seen.keys);
    let visible = 0;
    let pairs = 0;
    for (let query = firstQuery; query < Math.min(firstQuery + tileQueries, seen.queries); query++) {
      visible += visibleIn(seen, query, firstKey, endKey);
      pairs += endKey - firstKey;
    }
    return visible === 0 ? "skipped" : visible === pairs ? "whole" : "edge";
  });
  return { rows, columns, states };
}

export function count(states: readonly TileState[], state: TileState): number {
  return states.filter((one) => one === state).length;
}

/**
 * How many tiles of `size` × `size` pairs are not skipped. It looks at each row once, so it is quick for long sequences.
 * The keys that neighbouring rows see lie side by side, so those of a row of tiles go from the first to the last.
 */
export function visibleTiles(seen: Visibility, size: number): number {
  let tiles = 0;
  for (let first = 0; first < seen.queries; first += size) {
    let [low, high] = [Infinity, -Infinity];
    for (let query = first; query < Math.min(first + size, seen.queries); query++) {
      if (visibleIn(seen, query) === 0) continue;
      const [from, to] = seen.range(query);
      const own = seen.hole(query);
      low = Math.min(low, own === from ? from + 1 : from);
      high = Math.max(high, own === to - 1 ? to - 2 : to - 1);
    }
    if (low <= high) tiles += Math.floor(high / size) - Math.floor(low / size) + 1;
  }
  return tiles;
}
