import type { AttentionMap } from "headwise/viz";

import type { Engine } from "../../engine/engine.js";
import { headLabels } from "../../shell/headWords.js";
import type { Floats } from "../../engine/floats.js";
import type { AttentionCall, LayerCall } from "./problem.js";

/** Above this number of weights, rows are computed only when they are shown. */
const LARGEST_WHOLE = 2 ** 23;

export interface Result {
  readonly output: Floats;
  /** Absent if there are too many. */
  readonly probs?: Floats;
}

/** The sizes of the weights. */
export interface Extents {
  readonly batches: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

export async function compute(engine: Engine, call: AttentionCall | LayerCall): Promise<Result> {
  const { batches, heads, queries, keys } = extents(call);
  const returns = { output: true, probs: batches * heads * queries * keys <= LARGEST_WHOLE } as const;
  const { output, probs } =
    call.kind === "layer"
      ? await engine.forward(call.layer, call.x, { ...call.options, returns })
      : await engine.scaledDotProductAttention(call.query, call.key, call.value, { ...call.options, returns });
  const floats = { data: output.data as Float32Array, shape: output.shape };
  return probs ? { output: floats, probs } : { output: floats };
}

export function extents(call: AttentionCall | LayerCall): Extents {
  if (call.kind === "layer") {
    const [batches, tokens] = call.x.shape as [number, number];
    return { batches, heads: call.layer.numHeads, queries: tokens, keys: tokens };
  }
  const { layout = "BHSD", numHeads = 1 } = call.options;
  const [q, k] = [call.query.shape, call.key.shape];
  const isPacked = layout === "BSE" || layout === "BES";
  const [head, length] = { BHSD: [-3, -2], BSHD: [-2, -3], BSE: [0, -2], BES: [0, -1] }[layout] as [number, number];
  const isOneHead = q.length === 2;
  const at = isOneHead ? (layout === "BES" ? -1 : -2) : length;
  return {
    batches: q.length === (isPacked ? 3 : 4) ? q[0]! : 1,
    heads: isOneHead ? 1 : isPacked ? numHeads : q.at(head)!,
    queries: q.at(at)!,
    keys: k.at(at)!,
  };
}

/** Shows the weights in the map. Returns false if that cannot be done: a layer computes all rows or none. */
export function fill(map: AttentionMap, engine: Engine, call: AttentionCall | LayerCall, { probs }: Result): boolean {
  const { causal = false } = call.options;
  map.causal = causal !== false;
  if (probs) {
    map.headNames = headLabels(probs.shape.at(-3) ?? 1);
    map.probs = probs;
  } else if (call.kind === "attention") map.source = rowsOnDemand(engine, call);
  else return false;
  return true;
}

/** Computes rows of weights when they are shown. */
function rowsOnDemand(engine: Engine, call: AttentionCall): NonNullable<AttentionMap["source"]> {
  const { heads, queries, keys } = extents(call);
  return {
    ...{ heads, queries, keys },
    async rows(head, from, to) {
      const rows = Array.from({ length: to - from }, (_, row) => from + row);
      const { probs } = await engine.scaledDotProductAttention(call.query, call.key, call.value, {
        ...call.options,
        returns: { output: false, probs: { heads: [head], queries: rows } },
      });
      return probs.data.subarray(0, rows.length * keys); // of the first batch
    },
  };
}
