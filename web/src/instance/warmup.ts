import { attentionProblem, type AttentionOptions, type AttentionProblem } from "../attention/attentionProblem.js";
import type { Engine } from "../engine/engine.js";
import type { CallArguments } from "../read/callArguments.js";
import { namesOf, readOptions, type OptionReader } from "../read/options.js";
import { LAYOUTS, packsHeads, shapeOf, type Layout } from "../tensor/layout.js";
import { elementCount, FLOATS } from "../tensor/tensor.js";
import { zeros } from "../tensor/zeros.js";

/** Sizes of the calls that will follow. */
export interface WarmupShape {
  /** Number of batches, at most 2²⁴. Default 1. */
  readonly batchSize?: number | undefined;
  /** Number of query heads. */
  readonly numHeads: number;
  /** Number of key and value heads. Default numHeads. */
  readonly numKvHeads?: number | undefined;
  /** Number of queries. */
  readonly queryLength: number;
  /** Number of keys. Default queryLength. */
  readonly keyLength?: number | undefined;
  /** Width of one head of queries and keys. */
  readonly headDim: number;
  /** Width of one head of values. Default headDim. */
  readonly valueDim?: number | undefined;
  /** The dtype of query, key and value. Default `"float32"`. */
  readonly dtype?: "float32" | "float16" | undefined;
}

/** Options of `warmup`: those of the calls that will follow. */
export interface WarmupOptions extends AttentionOptions {
  /** Whether it computes the call. false only compiles it. Default true. */
  readonly compute?: boolean | undefined;
}

/** Each batch has an entry in lists. */
const MOST_BATCHES = 2 ** 24;

const NAMES = namesOf<WarmupShape>({
  batchSize: true,
  numHeads: true,
  numKvHeads: true,
  queryLength: true,
  keyLength: true,
  headDim: true,
  valueDim: true,
  dtype: true,
});

/** Makes an input of this shape. */
type MakeInput = (argument: string, shape: readonly number[], dtype: "float32" | "float16") => unknown;

/** Reads and checks a call of warmup, which is a call of attention with zeros. `make` makes other inputs than zeros. */
export function warmupProblem(
  call: CallArguments,
  shape: unknown,
  options: OptionReader,
  make: MakeInput = (argument, extents, dtype) => zeros(call.operation, argument, extents, dtype),
): AttentionProblem {
  const layout = options.oneOf("layout", LAYOUTS, "BHSD");
  const kvLayout = options.oneOf("kvLayout", LAYOUTS, layout);
  const { query, key, value, heads } = warmupInputs(call, shape, layout, kvLayout, make);
  return attentionProblem(call, query, key, value, options.withDefaults(heads));
}

/** Computes, and disposes the results that stayed on the GPU. */
export async function runWarmup(engine: Engine, problem: AttentionProblem): Promise<void> {
  const result = await engine.attention(problem);
  if (problem.location !== "gpu") return;
  const { topK, ...others } = result;
  for (const tensor of [...Object.values(others), ...Object.values(topK ?? {})])
    if (tensor !== problem.output.into?.tensor && "dispose" in tensor) tensor.dispose();
  await engine.finish?.(problem.operation);
}

/** Tensors of zeros with these sizes, in this layout. */
function warmupInputs(call: CallArguments, given: unknown, layout: Layout, kvLayout: Layout, make: MakeInput) {
  const shape = readOptions(call, given, NAMES, "shape");
  const batchSize = shape.integer("batchSize", { min: 1, max: MOST_BATCHES }) ?? 1;
  const numHeads = shape.requiredInteger("numHeads", { min: 1 });
  const numKvHeads = shape.integer("numKvHeads", { min: 1 }) ?? numHeads;
  const queryLength = shape.requiredInteger("queryLength", { min: 1 });
  const keyLength = shape.integer("keyLength", { min: 1 }) ?? queryLength;
  const headDim = shape.requiredInteger("headDim", { min: 1 });
  const valueDim = shape.integer("valueDim", { min: 1 }) ?? headDim;
  const dtype = shape.oneOf("dtype", FLOATS, "float32");
  const tensor = (argument: string, order: Layout, heads: number, length: number, dim: number) => {
    const extents = shapeOf(order, order.length, { batchSize, numHeads: heads, length, headDim: dim });
    elementCount(call.operation, argument, extents);
    return make(argument, extents, dtype);
  };
  return {
    query: tensor("query", layout, numHeads, queryLength, headDim),
    key: tensor("key", kvLayout, numKvHeads, keyLength, headDim),
    value: tensor("value", kvLayout, numKvHeads, keyLength, valueDim),
    heads: [layout, kvLayout].some((order) => packsHeads(order, order.length)) ? { numHeads, numKvHeads } : {},
  };
}
