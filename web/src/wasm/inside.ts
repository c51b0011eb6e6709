import type { Patches } from "../attention/patch.js";
import { chosenShape, type PlacedViews, type RowChoice, type Views } from "../attention/views.js";
import type { LayerView } from "../layer/views.js";
import { elementCount, type TypedTensor } from "../tensor/tensor.js";
import type { ResultForm } from "./attention.js";
import type { Arena } from "./heap.js";
import type { AttentionCall } from "./module.js";

/** The order of views in embind.cpp. */
const VIEW: Readonly<Record<LayerView, number>> = { query: 0, key: 1, value: 2, headOutputs: 3, contributions: 4 };
/** The order of patches in embind.cpp. */
const PATCH: Readonly<Record<keyof Patches, number>> = { query: 0, headOutputs: 1, probs: 2, key: 3, value: 4 };

/** The addresses and lengths of the lists of a choice. An absent list means all, and is a null pointer. */
function placeChoice(arena: Arena, { heads, rows }: RowChoice): [number, number, number, number] {
  return [arena.copy(heads), heads?.length ?? 0, arena.copy(rows), rows?.length ?? 0];
}

/** Writes what a call of a cache or a layer overwrites. */
export function writePatches(call: AttentionCall, arena: Arena, patches: Patches | undefined): void {
  for (const [name, patch] of Object.entries(patches ?? {}))
    call.setPatch(
      PATCH[name as keyof Patches],
      patch.data === "mean" ? 0 : arena.copy(patch.data),
      ...placeChoice(arena, patch),
    );
}

/** The part of a problem that says what is shown. */
interface Form<Name extends string> extends Pick<ResultForm, "operation" | "shape" | "keepRank"> {
  readonly views: Views<Name>;
}

/**
 * Makes room for what a call shows of its inside. The returned function reads it after the call.
 *
 * @param outputDim - The width of contributions.
 */
export function writeViews<Name extends LayerView>(
  call: AttentionCall,
  arena: Arena,
  { operation, views, shape, keepRank }: Form<Name>,
  outputDim?: number,
): () => PlacedViews<Name> {
  const shown = Object.entries<RowChoice>(views as Readonly<Record<string, RowChoice>>).map(([name, choice]) => {
    const full = chosenShape(name, choice, shape, name === "contributions" ? outputDim : undefined);
    const result = arena.result("float32", elementCount(operation, `returns.${name}`, full));
    call.setView(VIEW[name as LayerView], result.address, ...placeChoice(arena, choice));
    const collect = (): TypedTensor<"float32"> => ({ data: result.collect(), shape: keepRank(full), dtype: "float32" });
    return [name, collect] as const;
  });
  return () => Object.fromEntries(shown.map(([name, collect]) => [name, collect()])) as PlacedViews<Name>;
}
