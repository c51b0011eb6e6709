import { withDefaults } from "../read/withDefaults.js";
import { assertNumber, type Floats, type Indices } from "../tensor/plainTensor.js";
import {
  layersOfMaps,
  POSITION_DEFAULTS,
  rowsOf,
  type AttentionMaps,
  type PositionOptions,
  type Row,
} from "./attentionMaps.js";

import { afterEarlier, onFirst, onPrevious, onSelf } from "./patterns.js";
import { bestOffset } from "./positional.js";
import { statisticsOf } from "./rowStatistics.js";
import { tokenIds } from "./tokenIds.js";

/** What a head does. Each kind is the name of the function that gives its score. */
export type HeadKind = "previousToken" | "selfToken" | "firstToken" | "duplicateToken" | "induction" | "positional";

/** A head that does something that has a name. */
export interface DetectedHead {
  /** Counted from 0. */
  readonly layer: number;
  /** Counted from 0. */
  readonly head: number;
  readonly kind: HeadKind;
  /** From the threshold to 1. */
  readonly score: number;
  /** For the kind `"positional"`: position of the key − position of the query. */
  readonly offset?: number;
}

/** Options of detect. */
export interface DetectOptions extends PositionOptions {
  /** The smallest score that is listed, above 0. Default: 0.5, half of the weight. */
  readonly threshold?: number | undefined;
}

/**
 * Names heads: every head and kind whose score is at least the threshold. The scores are those of the functions with the
 * name of the kind, over the rows of all sequences together. A positional head with the offset 0 or −1 is listed only as
 * `selfToken` or `previousToken`.
 *
 * A head may have several kinds: in a text that repeats itself once, an induction head always looks back by the same
 * distance, and is positional too. Use several texts, or random tokens, to tell them apart.
 *
 * @param probsPerLayer - For each layer `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 * @param tokens - The ids of the tokens at the keys: `[Skv]` or `[B, Skv]`
 * @returns Sorted by layer, then by head, then by score, the highest first. A head whose score is NaN is not listed.
 */
export function detect(
  probsPerLayer: readonly Floats[],
  tokens: Indices,
  options: DetectOptions = {},
): readonly DetectedHead[] {
  const defaults = { ...POSITION_DEFAULTS, threshold: 0.5 };
  const { threshold, queryOffset } = withDefaults("detect", options, defaults);
  assertNumber("detect", "threshold", threshold, "a number above 0 and up to 1", (value) => value > 0 && value <= 1);
  const layers = layersOfMaps("detect", probsPerLayer, queryOffset).map((maps) => ({
    maps,
    ids: tokenIds("detect", tokens, maps),
  }));
  return layers.flatMap(({ maps, ids }, layer) =>
    Array.from({ length: maps.heads }, (_, head) =>
      habitsOf(maps, ids, head)
        .filter(({ score }) => score >= threshold)
        .sort((a, b) => b.score - a.score)
        .map((habit) => ({ layer, head, ...habit })),
    ).flat(),
  );
}

type Habit = Pick<DetectedHead, "kind" | "score" | "offset">;

function habitsOf(maps: AttentionMaps, ids: readonly Int32Array[], head: number): Habit[] {
  const measures = {
    previousToken: onPrevious,
    selfToken: onSelf,
    firstToken: onFirst,
    duplicateToken: afterEarlier(ids, 0),
    induction: afterEarlier(ids, 1),
  };
  const rows = [...rowsOfHead(maps, head)];
  const habits: Habit[] = Object.entries(measures).map(([kind, measure]) => ({
    kind: kind as HeadKind,
    score: statisticsOf(rows, measure).mean,
  }));
  const { score, offset } = bestOffset(maps, rows);
  return offset === 0 || offset === -1 ? habits : [...habits, { kind: "positional", score, offset }];
}

/** The rows of a head in all sequences. */
function* rowsOfHead(maps: AttentionMaps, head: number): Generator<Row> {
  for (let n = head; n < maps.batch * maps.heads; n += maps.heads) yield* rowsOf(maps, n);
}
