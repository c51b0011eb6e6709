import type { CallArguments } from "./callArguments.js";
import { packsHeads, shapeOf, type Layout } from "./layout.js";
import { namesOf, readOptions } from "./options.js";
import { zeros } from "./zeros.js";

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

const NAMES = namesOf<WarmupShape>({
  batchSize: true,
  numHeads: true,
  numKvHeads: true,
  queryLength: true,
  keyLength: true,
  headDim: true,
  valueDim: true,
});

/** Zeros of the shape, in this layout. */
export function warmupInputs(call: CallArguments, given: unknown, layout: Layout) {
  const { operation } = call;
  const shape = readOptions(call, given, NAMES, "shape");
  const batchSize = shape.integer("batchSize", { min: 1 }) ?? 1;
  const numHeads = shape.requiredInteger("numHeads", { min: 1 });
  const numKvHeads = shape.integer("numKvHeads", { min: 1 }) ?? numHeads;
  const queryLength = shape.requiredInteger("queryLength", { min: 1 });
  const keyLength = shape.integer("keyLength", { min: 1 }) ?? queryLength;
  const headDim = shape.requiredInteger("headDim", { min: 1 });
  const valueDim = shape.integer("valueDim", { min: 1 }) ?? headDim;
  const tensor = (argument: string, heads: number, length: number, dim: number) =>
    zeros(operation, argument, shapeOf(layout, layout.length, { batchSize, numHeads: heads, length, headDim: dim }));
  return {
    query: tensor("query", numHeads, queryLength, headDim),
    key: tensor("key", numKvHeads, keyLength, headDim),
    value: tensor("value", numKvHeads, keyLength, valueDim),
    heads: packsHeads(layout, layout.length) ? { numHeads, numKvHeads } : {},
  };
}
