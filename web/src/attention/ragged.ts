import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import type { OptionReader } from "../read/options.js";
import type { Layout } from "../tensor/layout.js";
import type { AttentionShape } from "./attentionShape.js";

/** The cumulative lengths of a ragged batch: sequence n has the rows from entry n up to entry n + 1. */
export interface Ragged {
  readonly query: Int32Array;
  readonly key: Int32Array;
}

/** Reads the cumulative lengths; undefined if the batch is not ragged. */
export function readRagged(
  options: OptionReader,
  layout: Layout,
  shape: AttentionShape,
  kvLayout = layout,
): Ragged | undefined {
  const { operation } = options;
  const query = readCumulative(options, "cuSeqLensQuery", shape.queryLength);
  const key = readCumulative(options, "cuSeqLensKey", shape.keyLength);
  if (!query && !key) return undefined;
  if (!query || !key) throw new OptionError(`${operation}: cuSeqLensQuery and cuSeqLensKey must be given together`);
  if (query.length !== key.length)
    throw new ShapeError(
      `${operation}: cuSeqLensKey must have as many entries as cuSeqLensQuery, got ${key.length} and ${query.length}`,
    );
  for (const [name, order] of Object.entries({ layout, kvLayout }))
    if (order !== "BSHD" && order !== "BSE")
      throw new OptionError(`${operation}: ${name} must be "BSHD" or "BSE" for a ragged batch, got ${describe(order)}`);
  if (shape.batchSize !== 1)
    throw new ShapeError(`${operation}: query.shape[0] must be 1 for a ragged batch, got ${shape.batchSize}`);
  for (const name of ["keyLengths", "queryLengths"])
    if (options.has(name))
      throw new OptionError(`${operation}: ${name} must be absent for a ragged batch, whose lengths are cuSeqLens`);
  return { query, key };
}

/** Reads a list that must ascend from 0 to the packed length. */
function readCumulative(options: OptionReader, name: string, total: number): Int32Array | undefined {
  const list = options.integers(name, { min: 0 });
  if (!list) return undefined;
  const ascends = list.every((entry, n) => n === 0 || entry >= list[n - 1]!);
  if (!ascends || list[0] !== 0 || list.at(-1) !== total)
    throw options.refuse(name, `ascend from 0 to the packed length ${total}`);
  return list;
}
