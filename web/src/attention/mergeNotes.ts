import { isObject } from "../foreign/describe.js";
import type { AttentionResult } from "./attentionResult.js";
import type { AttentionSettings } from "./attentionSettings.js";

/** What decides whether a result can be part of a whole. The numbers of the result no longer show it. */
interface MergeNote {
  readonly hasSinks: boolean;
  readonly emptyRows: AttentionSettings["emptyRows"];
}

/** The notes on results, by the data of their lse. */
export const notes = new WeakMap<object, MergeNote>();

/** Remembers how a result was computed, for a later mergeAttention. */
export function noteForMerge({ lse }: AttentionResult, { sinks, emptyRows }: AttentionSettings): void {
  // A result on the GPU has no data, and mergeAttention takes none of those.
  if (isObject(lse?.data)) notes.set(lse.data, { hasSinks: sinks !== undefined, emptyRows });
}
