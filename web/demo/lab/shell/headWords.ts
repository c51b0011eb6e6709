import { t } from "../../texts/t.js";

// People, addresses and names of files count heads and layers from 1. Code counts heads from 0.

/** "head 1" is the first one, whose index is 0. */
export function headLabel(head: number): string {
  return t`head ${head + 1}`;
}

/** "layer 2 head 1": the layer counts from 1, the head from 0. */
export function headWords({ layer, head }: { readonly layer: number; readonly head: number }): string {
  return t`layer ${layer} head ${head + 1}`;
}

/** The names of so many heads. */
export function headLabels(heads: number): string[] {
  return Array.from({ length: heads }, (_, head) => headLabel(head));
}
