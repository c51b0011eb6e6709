import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { assertShape, floats, type Floats } from "../tensor/plainTensor.js";
import { circuitOf, type Circuit } from "./circuit.js";
import { assertCount } from "./options.js";
import type { TallMatrix } from "./tallMatrix.js";

/** The weights of a layer of attention, with the names and the storage `[in, out]` of `multiHeadAttention`. */
export interface AttentionWeights {
  readonly numHeads: number;
  /** Default: numHeads. Query head h uses key and value head ⌊h·numKvHeads/numHeads⌋. */
  readonly numKvHeads?: number | undefined;
  readonly weights: {
    /** `[width, numHeads·D]` */
    readonly Wq: Floats;
    /** `[width, numKvHeads·D]` */
    readonly Wk: Floats;
    /** `[width, numKvHeads·Dv]` */
    readonly Wv: Floats;
    /** `[numHeads·Dv, width]` */
    readonly Wo: Floats;
  };
}

/** The two circuits of a head. */
export interface HeadCircuits {
  /** Wq·Wkᵀ: whom it attends to. */
  readonly qk: Circuit;
  /** Wv·Wo: what it writes. */
  readonly ov: Circuit;
}

/** The circuits of all query heads of a layer, and the layer's width. */
export function headCircuits(operation: string, argument: string, layer: AttentionWeights) {
  const { numHeads, numKvHeads, width, Wq, Wk, Wv, Wo } = checkedWeights(operation, argument, layer);
  const group = numHeads / numKvHeads;
  const heads = Array.from({ length: numHeads }, (_, head): HeadCircuits => {
    const kvHead = Math.floor(head / group);
    return {
      qk: circuitOf(columnsOf(Wq, head, numHeads), columnsOf(Wk, kvHead, numKvHeads)),
      ov: circuitOf(columnsOf(Wv, kvHead, numKvHeads), rowsOf(Wo, head, numHeads)),
    };
  });
  return { heads, width };
}

function checkedWeights(operation: string, argument: string, layer: AttentionWeights) {
  const given = guarded(operation, argument, () => {
    if (!isObject(layer)) return undefined;
    const { numHeads, numKvHeads, weights } = layer;
    return { numHeads, numKvHeads, weights };
  });
  if (!isObject(given?.weights))
    throw new OptionError(
      `${operation}: ${argument} must be an object with numHeads and weights { Wq, Wk, Wv, Wo }, got ${describe(layer)}`,
    );
  const { numHeads, numKvHeads = numHeads, weights } = given;
  assertCount(operation, `${argument}.numHeads`, numHeads);
  assertCount(operation, `${argument}.numKvHeads`, numKvHeads);
  if (numHeads % numKvHeads !== 0)
    throw new ShapeError(
      `${operation}: ${argument}.numKvHeads must divide ${argument}.numHeads, got ${numKvHeads} and ${numHeads}`,
    );
  const at = (name: keyof typeof weights) => `${argument}.weights.${name}`;
  const matrix = (name: keyof typeof weights) =>
    guarded(operation, at(name), () => floats(operation, at(name), weights[name]));
  const [Wq, Wk, Wv, Wo] = [matrix("Wq"), matrix("Wk"), matrix("Wv"), matrix("Wo")];
  const width = Wq.shape[0] ?? 0;
  const perHead = ({ shape }: Floats, heads: number) => Math.ceil((shape[1] ?? 0) / heads) || 1;
  const [headDim, valueHeadDim] = [perHead(Wq, numHeads), perHead(Wv, numKvHeads)];
  assertShape(operation, at("Wq"), Wq, [width, numHeads * headDim], "[width, numHeads·D],");
  assertShape(operation, at("Wk"), Wk, [width, numKvHeads * headDim], "[width, numKvHeads·D],");
  assertShape(operation, at("Wv"), Wv, [width, numKvHeads * valueHeadDim], "[width, numKvHeads·Dv],");
  assertShape(operation, at("Wo"), Wo, [numHeads * valueHeadDim, width], "[numHeads·Dv, width],");
  return { numHeads, numKvHeads, width, Wq, Wk, Wv, Wo };
}

/** The columns of a head. */
function columnsOf({ data, shape }: Floats, head: number, heads: number): TallMatrix {
  const [rows, width] = shape as [number, number];
  const columns = width / heads;
  const part = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const start = row * width + head * columns;
    part.set(data.subarray(start, start + columns), row * columns);
  }
  return { data: part, columns };
}

/** The rows of a head, as columns. */
function rowsOf({ data, shape }: Floats, head: number, heads: number): TallMatrix {
  const [height, width] = shape as [number, number];
  const columns = height / heads;
  const part = new Float64Array(width * columns);
  for (let column = 0; column < columns; column++)
    for (let row = 0; row < width; row++) part[row * columns + column] = data[(head * columns + column) * width + row]!;
  return { data: part, columns };
}
