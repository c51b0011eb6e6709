import { random, type Random } from "headwise/train";

import { Characters } from "./characters.js";

/** Integers with a shape. */
export interface TokenTensor {
  readonly data: Int32Array;
  readonly shape: readonly number[];
}

/** The sequences of the task. */
export interface RepeatTask {
  /** The longest sequence. Halves have from an eighth to a half of it, so that no fixed distance can be learned. */
  readonly tokens: number;
  /** How many different tokens there are: at least half of `tokens`. */
  readonly vocabulary: number;
}

/** A sequence whose second half repeats the first: `tokens[half + i]` is `tokens[i]`. */
export interface RepeatSequence {
  readonly tokens: Int32Array;
  readonly half: number;
}

/** Sequences to train on, side by side. */
export interface Batch {
  /** `[batch, length]` */
  readonly tokens: TokenTensor;
  /** The token that follows each token; −1 where the next token does not count. */
  readonly targets: TokenTensor;
  /** What the tokens stand for, if the training asks that too; −1 where it does not. */
  readonly asides?: TokenTensor;
}

/** A letter for each token, for people. */
export const REPEAT_CHARACTERS = new Characters("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789ÄÖ");

/** A token in the places behind a shorter sequence. Nothing looks there. */
const PADDING = 0;

/**
 * A sequence whose second half repeats the first. The tokens of a half are drawn without replacement, so each has one
 * successor. A model can copy it only if it looks for the earlier place of the last token, and takes what followed.
 */
export function repeatSequence({ seed, ...task }: RepeatTask & { readonly seed: number }): RepeatSequence {
  return drawSequence(random(seed), task);
}

/**
 * A batch of fresh sequences. The targets are the tokens that can be known: those from the second repeated token on. The
 * first one cannot, because nothing says where the first half ends.
 */
export function repeatBatch(source: Random, batch: number, task: RepeatTask): Batch {
  const shape = [batch, task.tokens];
  const tokens = new Int32Array(batch * task.tokens).fill(PADDING);
  const targets = new Int32Array(batch * task.tokens).fill(-1);
  for (let start = 0; start < tokens.length; start += task.tokens) {
    const { tokens: sequence, half } = drawSequence(source, task);
    tokens.set(sequence, start);
    targets.set(sequence.subarray(half + 1), start + half);
  }
  return { tokens: { data: tokens, shape }, targets: { data: targets, shape } };
}

/** The share of repeated tokens, from the second one on, that were expected after the token before them. */
export function copiedShare(tokens: Int32Array, half: number, predictions: Int32Array): number {
  let right = 0;
  for (let at = half; at < tokens.length - 1; at++) right += Number(predictions[at] === tokens[at + 1]);
  return right / (tokens.length - 1 - half);
}

function drawSequence(source: Random, { tokens, vocabulary }: RepeatTask): RepeatSequence {
  const longest = Math.floor(tokens / 2);
  const shortest = Math.ceil(longest / 4);
  const half = shortest + source.integer(longest - shortest + 1);
  const once = source.permutation(vocabulary).subarray(0, half);
  const sequence = new Int32Array(2 * half);
  sequence.set(once);
  sequence.set(once, half);
  return { tokens: sequence, half };
}
