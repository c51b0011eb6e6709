import { ShapeError } from "../base/errors.js";
import type { CallArguments } from "../read/callArguments.js";
import { argument } from "../read/options.js";

/** Reads the batches of `select`: one for each batch of the cache. */
export function selectedBatches(call: CallArguments, given: unknown, batchSize: number): Int32Array {
  const reader = argument(call, "indices", given);
  const indices = reader.integers("indices", { min: 0, max: batchSize - 1 });
  if (!indices) throw reader.missing("indices", `a list of ${batchSize} batches`);
  if (indices.length !== batchSize)
    throw new ShapeError(
      `${call.operation}: indices must have one entry for each batch of the cache (${batchSize}), got ${indices.length}`,
      {
        hint:
          "The batch size of a cache is fixed. Make it with as many batches as there are beams, or fork a cache of one " +
          "batch for each beam.",
      },
    );
  return indices;
}
