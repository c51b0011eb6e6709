import { isObject } from "../foreign/describe.js";
import type { AttentionResult } from "./attentionResult.js";
import type { AttentionSettings } from "./attentionSettings.js";

/** What decides whether a result can be merged. The result's numbers do not show it. */
interface MergeNote {
  readonly hasSinks: boolean;
  readonly emptyRows: AttentionSettings["emptyRows"];
}

/** The note on each result; the key is the data of its lse. */
const notes = new WeakMap<object, MergeNote>();

/** The note on a result with this data of its lse. Tensors of the caller have none, and count as results without sinks. */
export function noteOf(lse: object): MergeNote {
  return notes.get(lse) ?? { hasSinks: false, emptyRows: "zero" };
}

/** Remembers how a result was computed. A later mergeAttention checks it. */
export function noteForMerge({ lse }: AttentionResult, { sinks, emptyRows }: AttentionSettings): void {
  // A GPU result has no data, and mergeAttention does not accept it.
  if (isObject(lse?.data)) notes.set(lse.data, { hasSinks: sinks !== undefined, emptyRows });
}
