import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { Patches } from "../layer/patch.js";
import { viewShape, type PlacedViews, type RowChoice, type View } from "../layer/views.js";
import { elementCount, type TypedTensor } from "../tensor/tensor.js";
import type { Arena } from "./heap.js";
import type { LayerCall } from "./module.js";

/** The order of views in embind.cpp. */
const VIEW: Readonly<Record<View, number>> = { query: 0, key: 1, value: 2, headOutputs: 3, contributions: 4 };
/** The order of patches in embind.cpp. */
const PATCH: Readonly<Record<keyof Patches, number>> = { query: 0, key: 1, value: 2, headOutputs: 3, probs: 4 };

/** The addresses and lengths of the lists of a choice. An absent list means all, and is a null pointer. */
function placeChoice(arena: Arena, { heads, rows }: RowChoice): [number, number, number, number] {
  return [arena.copy(heads), heads?.length ?? 0, arena.copy(rows), rows?.length ?? 0];
}

/** Writes what a call of a layer overwrites. */
export function writePatches(call: LayerCall, arena: Arena, patches: Patches | undefined): void {
  for (const [name, patch] of Object.entries(patches ?? {}))
    call.setPatch(
      PATCH[name as keyof Patches],
      patch.data === "mean" ? 0 : arena.copy(patch.data),
      ...placeChoice(arena, patch),
    );
}

/** Makes room for what a call shows of the inside of a layer. The returned function reads it after the call. */
export function writeViews(
  call: LayerCall,
  arena: Arena,
  { operation, views, shape, keepRank }: ForwardProblem,
  outputDim: number,
): () => PlacedViews {
  const shown = Object.entries(views).map(([name, choice]) => {
    const full = viewShape(name as View, choice, shape, outputDim);
    const result = arena.result("float32", elementCount(operation, `returns.${name}`, full));
    call.setView(VIEW[name as View], result.address, ...placeChoice(arena, choice));
    const collect = (): TypedTensor<"float32"> => ({ data: result.collect(), shape: keepRank(full), dtype: "float32" });
    return [name, collect] as const;
  });
  return () => Object.fromEntries(shown.map(([name, collect]) => [name, collect()]));
}
