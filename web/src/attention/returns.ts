import { OptionError } from "../base/errors.js";
import { namesOf, type NumberList, type OptionReader } from "../read/options.js";
import type { AttentionShape } from "./attentionShape.js";

/** A selection of heads and query rows, by index. An absent list means all. */
export interface Slice {
  readonly heads?: NumberList | undefined;
  readonly queries?: NumberList | undefined;
}

/**
 * A selection of heads and query rows. If `average` is true, the mean of the heads is returned in an axis of extent 1.
 */
export interface AveragedSlice extends Slice {
  readonly average?: boolean | undefined;
}

/**
 * The stage of the scores before the softmax. `"raw"`: scale·q·k. `"softcapped"`: after softcap. `"biased"`: after
 * ALiBi and bias too, −∞ where hidden. `"formula"`: after the formula `score` too, −∞ where hidden; without `score` the
 * same as `"biased"`.
 */
export type ScoreStage = "raw" | "softcapped" | "biased" | "formula";

/** What a call returns. By default only `output` is computed. */
export interface Returns {
  /** Default true. */
  readonly output?: boolean | undefined;
  /** The result of the softmax, `[B, heads, queries, Skv]`. Default false. */
  readonly probs?: boolean | AveragedSlice | undefined;
  /**
   * The k largest probs of each row and their key indices, `[B, heads, queries, k]`. If two are equal, the lower index
   * comes first.
   */
  readonly topK?: number | (AveragedSlice & { readonly k: number }) | undefined;
  /** Natural logarithm of the softmax's denominator, `[B, numHeads, Sq]`. Default false. */
  readonly lse?: boolean | undefined;
  /** −Σ p ln p of each row in nats, `[B, numHeads, Sq]`. Default false. */
  readonly entropy?: boolean | undefined;
  /** Scores before the softmax at one stage, `[B, heads, queries, Skv]`. */
  readonly scores?: ScoreStage | (Slice & { readonly stage: ScoreStage }) | undefined;
}

/** A checked selection of heads and query rows; undefined means all. */
export interface Selection {
  readonly heads: Int32Array | undefined;
  readonly queries: Int32Array | undefined;
  readonly average: boolean;
}

/** The checked option `returns`. */
export interface Wanted {
  readonly output: boolean;
  readonly probs: Selection | undefined;
  readonly topK: { readonly k: number; readonly selection: Selection } | undefined;
  readonly lse: boolean;
  readonly entropy: boolean;
  readonly scores: { readonly stage: ScoreStage; readonly selection: Selection } | undefined;
}

const STAGES = ["raw", "softcapped", "biased", "formula"] as const;

const SLICE = namesOf<Slice>({ heads: true, queries: true });

const AVERAGED = namesOf<AveragedSlice>({ heads: true, queries: true, average: true });

const ALL: Selection = { heads: undefined, queries: undefined, average: false };

/** The extents that limit the indices of heads and queries. */
type Rows = Pick<AttentionShape, "numHeads" | "queryLength">;

export const RETURNS_NAMES = namesOf<Returns>({
  output: true,
  probs: true,
  topK: true,
  lse: true,
  entropy: true,
  scores: true,
});

/** Whether an output is wanted. */
export const wantsOutput = (returns: OptionReader | undefined): boolean => returns?.flag("output", true) ?? true;

/** Reads the results of attention among the entries of `returns`. */
export function readWanted(returns: OptionReader | undefined, shape: Rows): Wanted {
  return {
    output: wantsOutput(returns),
    probs: returns && readProbs(returns, shape),
    topK: returns && readTopK(returns, shape),
    lse: returns?.flag("lse", false) ?? false,
    entropy: returns?.flag("entropy", false) ?? false,
    scores: returns && readScores(returns, shape),
  };
}

function readProbs(returns: OptionReader, shape: Rows): Selection | undefined {
  if (typeof returns.value("probs") === "boolean") return returns.flag("probs", false) ? ALL : undefined;
  const slice = returns.object("probs", AVERAGED);
  return slice && readSelection(slice, shape);
}

function readTopK(returns: OptionReader, shape: Rows): Wanted["topK"] {
  if (!returns.has("topK")) return undefined;
  if (typeof returns.value("topK") === "number")
    return { k: returns.requiredInteger("topK", { min: 1 }), selection: ALL };
  const slice = returns.object("topK", ["k", ...AVERAGED])!;
  return { k: slice.requiredInteger("k", { min: 1 }), selection: readSelection(slice, shape) };
}

function readScores(returns: OptionReader, shape: Rows): Wanted["scores"] {
  if (!returns.has("scores")) return undefined;
  if (typeof returns.value("scores") === "string")
    return { stage: returns.oneOf("scores", STAGES, "raw"), selection: ALL };
  const slice = returns.object("scores", ["stage", ...SLICE])!;
  if (!slice.has("stage")) throw slice.missing("stage", '"raw", "softcapped", "biased" or "formula"');
  return { stage: slice.oneOf("stage", STAGES, "raw"), selection: readSelection(slice, shape) };
}

function readSelection(slice: OptionReader, shape: Rows): Selection {
  return {
    heads: readIndices(slice, "heads", shape.numHeads),
    queries: readIndices(slice, "queries", shape.queryLength),
    average: slice.flag("average", false),
  };
}

/** Throws if an index is not below `count`. `name` is that of the list. */
export function checkIndices(name: string, list: Int32Array | undefined, count: number): void {
  const n = list?.findIndex((index) => index >= count) ?? -1;
  if (n >= 0) throw new OptionError(`${name}[${n}] must be an integer from 0 to ${count - 1}, got ${list![n]}`);
}

/** Reads a list of indices below `count`. */
export function readIndices(slice: OptionReader, name: string, count: number): Int32Array | undefined {
  const list = slice.integers(name, { min: 0 });
  checkIndices(slice.at(name), list, count);
  return list;
}

/** The extents of the axes [heads, queries] after the selection. */
export function selectedExtents({ heads, queries, average }: Selection, shape: Rows): [number, number] {
  return [average ? 1 : (heads?.length ?? shape.numHeads), queries?.length ?? shape.queryLength];
}
