import type { AttentionSettings } from "./attentionOptions.js";
import type { AttentionResult } from "./backend.js";
import { isObject } from "./describe.js";

/** What decides whether a result can be part of a whole; the numbers themselves no longer show it. */
export interface MergeNote {
  readonly hasSinks: boolean;
  readonly emptyRows: AttentionSettings["emptyRows"];
}

/** By the data of the result's lse. */
const notes = new WeakMap<object, MergeNote>();

export function noteForMerge({ lse }: AttentionResult, { sinks, emptyRows }: AttentionSettings): void {
  // on the GPU there is no data: merging takes none of those
  if (isObject(lse?.data)) notes.set(lse.data, { hasSinks: sinks !== undefined, emptyRows });
}

export function mergeNote(lse: object): MergeNote | undefined {
  return notes.get(lse);
}
