import { namesOf, type NumberList, type OptionReader } from "../call/options.js";
import { OptionError } from "../errors/errors.js";
import type { AttentionShape } from "./attentionShape.js";

/** A choice of heads and query rows; absent means all. */
export interface Slice {
  readonly heads?: NumberList;
  readonly queries?: NumberList;
}

/** A slice whose heads can be replaced by their mean, which keeps an axis of extent 1. */
export interface AveragedSlice extends Slice {
  readonly average?: boolean;
}

/** Before the softmax: `"raw"` scale·q·k, `"softcapped"`, or `"biased"` with ALiBi, bias and −∞ where hidden. */
export type ScoreStage = "raw" | "softcapped" | "biased";

/** What a call gives back. Only `output` is computed unless more is asked for. */
export interface Returns {
  /** Default true. */
  readonly output?: boolean;
  /** The softmax's result, `[B, heads, queries, Skv]`. */
  readonly probs?: boolean | AveragedSlice;
  /** The k largest probs of each row and their key indices, `[B, heads, queries, k]`. Ties go to the lower index. */
  readonly topK?: number | (AveragedSlice & { readonly k: number });
  /** Natural logarithm of the softmax's denominator, `[B, numHeads, Sq]`. */
  readonly lse?: boolean;
  /** −Σ p ln p in nats, `[B, numHeads, Sq]`. */
  readonly entropy?: boolean;
  /** `[B, heads, queries, Skv]`. */
  readonly scores?: ScoreStage | (Slice & { readonly stage: ScoreStage });
}

/** A choice of heads and query rows, checked; undefined means all. */
export interface Selection {
  readonly heads: Int32Array | undefined;
  readonly queries: Int32Array | undefined;
  readonly average: boolean;
}

/** What to compute, checked. */
export interface Wanted {
  readonly output: boolean;
  readonly probs: Selection | undefined;
  readonly topK: { readonly k: number; readonly selection: Selection } | undefined;
  readonly lse: boolean;
  readonly entropy: boolean;
  readonly scores: { readonly stage: ScoreStage; readonly selection: Selection } | undefined;
}

const STAGES = ["raw", "softcapped", "biased"] as const;

const SLICE = namesOf<Slice>({ heads: true, queries: true });

const AVERAGED = namesOf<AveragedSlice>({ heads: true, queries: true, average: true });

const ALL: Selection = { heads: undefined, queries: undefined, average: false };

/** The extents that the choice of heads and rows goes by. */
type Rows = Pick<AttentionShape, "numHeads" | "queryLength">;

const RETURNS_NAMES = namesOf<Returns>({
  output: true,
  probs: true,
  topK: true,
  lse: true,
  entropy: true,
  scores: true,
});

export function readReturns(options: OptionReader, shape: Rows): Wanted {
  const returns = options.object("returns", RETURNS_NAMES);
  return {
    output: returns?.flag("output", true) ?? true,
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
  if (!slice.has("stage")) throw slice.missing("stage", '"raw", "softcapped" or "biased"');
  return { stage: slice.oneOf("stage", STAGES, "raw"), selection: readSelection(slice, shape) };
}

function readSelection(slice: OptionReader, shape: Rows): Selection {
  const index = (name: string, count: number) => {
    const list = slice.integers(name, { min: 0 });
    const outside = list?.find((value) => value >= count);
    if (outside !== undefined)
      throw new OptionError(`${slice.at(name)} must hold indices below ${count}, got ${outside}`);
    return list;
  };
  return {
    heads: index("heads", shape.numHeads),
    queries: index("queries", shape.queryLength),
    average: slice.flag("average", false),
  };
}

/** Extents of the [heads, queries] axes that a selection leaves. */
export function selectedExtents({ heads, queries, average }: Selection, shape: Rows): [number, number] {
  return [average ? 1 : (heads?.length ?? shape.numHeads), queries?.length ?? shape.queryLength];
}
