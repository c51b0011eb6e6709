import type { FormulaData } from "../formula/graph.js";
import type { NumberList } from "../read/options.js";
import type { FloatTensorLike, MaskLike } from "../tensor/tensor.js";

/**
 * What a query row that sees no key gives. `"zero"`: output and probs 0. `"nan"`: NaN. `"uniform"`: the mean over the
 * keys. `"throw"`: an EmptyRowError.
 */
export type EmptyRows = "zero" | "nan" | "uniform" | "throw";

/** How many keys are visible on each side of the query's position. An absent side has no limit. */
export interface Window {
  readonly left?: number | undefined;
  readonly right?: number | undefined;
}

/**
 * Drops weights at random, in training (Srivastava et al. 2014). A weight becomes 0 with probability `rate`, and the
 * others are divided by 1 − rate, after the softmax.
 */
export interface Dropout {
  /** From 0 (nothing is dropped) to 1 (every weight is 0). */
  readonly rate: number;
  /**
   * A whole number from 0 to 2⁵³ − 1. Give each step of training, and each layer, a seed of its own. Equal seeds drop
   * the same weights on every engine, for every number of threads and every layout; so the gradient needs the forward's
   * seed.
   */
  readonly seed: number;
}

/**
 * The options of the attention formula. For batch b, query head h, key head g, query i at position i + offset_b, and
 * key j:
 *
 *     s = scale · q_bhi · k_bgj                      "raw"
 *     s = softcap · tanh(s / softcap)                "softcapped"
 *     s = s − alibiSlopes_h · |i + offset_b − j|     or the distance of `positions`, if they are given
 *     s = s + bias_bhij                              "biased"; −∞ where hidden
 *     s = score(s, q, k, h, …)                       "formula"; −∞ where hidden
 *     p = exp(s) / (Σ_visible exp(s) + exp(sink_h))
 *     w = p / (1 − rate), or 0 if dropped            p without dropout
 *     output = headGain_h · Σ_visible w · v
 *
 * A hidden key has no effect at all, even if its key, value, bias or `score` is NaN or infinite.
 */
export interface AttentionSettingsOptions {
  /** Multiplies q·k. Default 1/√headDim. */
  readonly scale?: number | undefined;
  /**
   * Hides the keys after the query's position. `true` means `"lower-right"`, the alignment of FlashAttention. PyTorch's
   * `is_causal` is `"upper-left"`. Default false.
   */
  readonly causal?: boolean | "upper-left" | "lower-right" | undefined;
  /**
   * The position of query 0: a number, or one for each batch (or ragged sequence). causal, window, alibiSlopes and
   * excludeSelf use it, and it overrides the alignment of causal. It may be negative: then the first rows see no key.
   * Default: key length − query length if causal is `"lower-right"`, otherwise 0.
   */
  readonly queryOffset?: number | NumberList | undefined;
  /** Keys visible on each side. For example, Mistral's window W is `{ left: W - 1 }` with causal. Default: no limit. */
  readonly window?: Window | undefined;
  /** `[B, numHeads, Sq, Skv]`, broadcast from the right as in NumPy; bool, **true = may attend**. Default: all. */
  readonly mask?: MaskLike | undefined;
  /** `[B, numHeads, Sq, Skv]`, broadcast from the right. It is added to the scores; −∞ hides the key. */
  readonly bias?: FloatTensorLike | null | undefined;
  /**
   * A formula that gives the new score of each visible pair; `s` is the score so far. −∞ hides the key, and NaN poisons
   * its own row. `formula` of `headwise/formula` makes it: `formula("s - slope[h] * abs(q - k)", { slope })`. Positions
   * must be below 2²⁴. Not with emptyRows `"throw"`.
   */
  readonly score?: FormulaData | undefined;
  /**
   * A formula that says which pairs are visible, without `s`: `formula("doc[q] == doc[k]", { doc })`. A key is visible
   * if the formula is true (neither 0 nor NaN) and every other rule allows it. Positions must be below 2²⁴.
   */
  readonly visible?: FormulaData | undefined;
  /** `[B]`, from 0 to Skv. Keys from this index on are padding. Default Skv. */
  readonly keyLengths?: NumberList | undefined;
  /** `[B]`, from 0 to Sq. Query rows from this index on are padding, and their outputs are 0. Default Sq. */
  readonly queryLengths?: NumberList | undefined;
  /** Hides the key that has the query's own position. Default false. */
  readonly excludeSelf?: boolean | undefined;
  /** Limits the scores smoothly to ±softcap (Gemma 2: 50). Default 0: no limit. */
  readonly softcap?: number | undefined;
  /** `[numHeads]`: slopes of a bias that grows with distance (ALiBi, Press et al. 2022); see `alibiSlopes()`. */
  readonly alibiSlopes?: NumberList | undefined;
  /**
   * `[numHeads]`: a logit of each head that has no key or value and joins the softmax's sum (gpt-oss). −∞ means none.
   */
  readonly sinks?: NumberList | undefined;
  /** `[numHeads]`: multiplies the output of each head; 0 gives exactly 0. Default 1. */
  readonly headGain?: NumberList | undefined;
  /**
   * Drops weights at random, in training: `{ rate: 0.1, seed: step }`. lse, entropy and scores are those without dropout;
   * probs and topK have the weights that multiply the values, with dropout. A row that sees no key follows emptyRows. Not
   * with a cache, nor with `patch.probs`. Default: none.
   */
  readonly dropout?: Dropout | undefined;
  /** What a query row that sees no key yields. Default `"zero"`. */
  readonly emptyRows?: EmptyRows | undefined;
}
