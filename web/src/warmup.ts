import { attentionProblem, OPTION_NAMES, type AttentionOptions, type AttentionProblem } from "./attentionProblem.js";
import type { Backend } from "./backend.js";
import { OutOfMemoryError } from "./errors.js";
import type { GpuResult } from "./gpuData.js";
import { LAYOUTS, packsHeads, shapeOf, type Layout } from "./layout.js";
import { OptionReader } from "./options.js";
import { readRagged } from "./ragged.js";
import { elementCount, type TypedTensor } from "./tensor.js";

/** The extents of calls to come. */
export interface WarmupShape {
  /** Default 1. */
  readonly batchSize?: number;
  readonly numHeads: number;
  /** Default numHeads. */
  readonly numKvHeads?: number;
  readonly queryLength: number;
  /** Default queryLength. */
  readonly keyLength?: number;
  readonly headDim: number;
  /** Default headDim. */
  readonly valueDim?: number;
}

const NAMES = ["batchSize", "numHeads", "numKvHeads", "queryLength", "keyLength", "headDim", "valueDim"];

/** Checks a whole call of warmup; it is one of attention with zeros. */
export function warmupProblem(
  operation: string,
  shape: unknown,
  options: AttentionOptions,
  onGpu: boolean | undefined,
): AttentionProblem {
  const layout = new OptionReader(operation, "", options, OPTION_NAMES, onGpu).oneOf("layout", LAYOUTS, "BHSD");
  const { query, key, value, heads } = warmupInputs(operation, shape, layout);
  return attentionProblem(operation, query, key, value, { ...heads, ...options }, onGpu, readRagged);
}

/** Computes, and gives back what stayed on the GPU. */
export async function runWarmup(backend: Backend, problem: AttentionProblem): Promise<void> {
  const result = await backend.attention(problem);
  if (problem.location !== "gpu") return;
  const { topK, ...others } = result;
  for (const tensor of [...Object.values(others), ...Object.values(topK ?? {})])
    if (tensor !== problem.output.into?.tensor) (tensor as unknown as GpuResult).dispose();
}

/** Zeros of the shape, in this layout. */
function warmupInputs(operation: string, given: unknown, layout: Layout) {
  const shape = new OptionReader(operation, "shape", given, NAMES);
  const batchSize = shape.integer("batchSize", { min: 1 }) ?? 1;
  const numHeads = shape.requiredInteger("numHeads", { min: 1 });
  const numKvHeads = shape.integer("numKvHeads", { min: 1 }) ?? numHeads;
  const queryLength = shape.requiredInteger("queryLength", { min: 1 });
  const keyLength = shape.integer("keyLength", { min: 1 }) ?? queryLength;
  const headDim = shape.requiredInteger("headDim", { min: 1 });
  const valueDim = shape.integer("valueDim", { min: 1 }) ?? headDim;
  const zeros = (argument: string, heads: number, length: number, dim: number) =>
    zeroTensor(
      operation,
      argument,
      shapeOf(layout, layout.length, { batchSize, numHeads: heads, length, headDim: dim }),
    );
  return {
    query: zeros("query", numHeads, queryLength, headDim),
    key: zeros("key", numKvHeads, keyLength, headDim),
    value: zeros("value", numKvHeads, keyLength, valueDim),
    heads: packsHeads(layout, layout.length) ? { numHeads, numKvHeads } : {},
  };
}

function zeroTensor(operation: string, argument: string, shape: readonly number[]): TypedTensor<"float32"> {
  const length = elementCount(operation, argument, shape);
  try {
    return { data: new Float32Array(length), shape, dtype: "float32" };
  } catch (cause) {
    throw new OutOfMemoryError(`${operation}: ${argument} of ${length} numbers does not fit memory`, { cause });
  }
}
