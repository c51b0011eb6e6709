import type { PlacedResult } from "./attentionResult.js";
import type { AttentionSettings } from "./attentionSettings.js";

/** What decides whether a result can be merged. The result's numbers do not show it. */
interface MergeNote {
  readonly hasSinks: boolean;
  readonly emptyRows: AttentionSettings["emptyRows"];
}

/** The note on each result. The key is the data of its lse, or the lse itself if it is on the GPU. */
const notes = new WeakMap<object, MergeNote>();

/** The note on a result with this data of its lse. Tensors of the caller have none, and count as results without sinks. */
export function noteOf(lse: object): MergeNote {
  return notes.get(lse) ?? { hasSinks: false, emptyRows: "zero" };
}

/** Remembers how a result was computed. A later mergeAttention checks it. */
export function noteForMerge({ lse }: PlacedResult, { sinks, emptyRows }: AttentionSettings): void {
  if (!lse) return;
  const key = "buffer" in lse ? lse : lse.data;
  notes.set(key, { hasSinks: sinks !== undefined, emptyRows });
}
