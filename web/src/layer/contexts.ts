import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import type { OptionReader } from "../read/options.js";
import { assertBatch } from "../tensor/layout.js";
import { FLOATS, type PlacedFloats } from "../tensor/tensor.js";
import type { LayerForm } from "./layerForm.js";

/** The sizes of x or of a context. */
export interface Rows {
  readonly batchSize: number;
  readonly length: number;
}

/** What a layer reads beside x: the inputs of the projections of keys and values, if they are not x. */
export interface Contexts {
  readonly key: PlacedFloats | undefined;
  readonly value: PlacedFloats | undefined;
  /** How many rows they have; those of x if both are absent. */
  readonly length: number;
}

/** Reads `key` and `value` of a call with this x. */
export function readContexts(options: OptionReader, layer: LayerForm, x: PlacedFloats, rows: Rows): Contexts {
  const key = options.placed("key", FLOATS);
  const value = options.placed("value", FLOATS);
  const { operation } = options;
  const { keyInputDim, valueInputDim } = layer.shape;
  const rowsOf = (name: string, context: PlacedFloats, width: number, option: string): number => {
    if (context.shape.length !== x.shape.length)
      throw new ShapeError(`${operation}: ${name} must have the rank of x, got shape ${describe(context.shape)}`);
    const { batchSize, length } = readRows(operation, name, context, layer.layout, width, option);
    if (batchSize !== rows.batchSize)
      throw new ShapeError(
        `${operation}: ${name} must have the batch size of x, got ${batchSize} and ${rows.batchSize}`,
      );
    return length;
  };
  const length = key ? rowsOf("key", key, keyInputDim, "keyInputDim") : rows.length;
  const valueLength = value ? rowsOf("value", value, valueInputDim, "valueInputDim") : length;
  if (valueLength !== length)
    throw new ShapeError(`${operation}: value must be as long as its keys, got ${valueLength} and ${length}`);
  return { key, value, length };
}

/** If a context is absent, x is the context. Then x must have the context's width. */
export function checkWidths(
  options: OptionReader,
  { shape: { inputDim, keyInputDim, valueInputDim } }: LayerForm,
): void {
  if (!options.has("key") && keyInputDim !== inputDim)
    throw new ShapeError(
      `${options.operation}: key must be given, since keyInputDim is not inputDim: ${keyInputDim} and ${inputDim}`,
    );
  if (!options.has("value") && valueInputDim !== keyInputDim)
    throw new ShapeError(
      `${options.operation}: value must be given, since valueInputDim is not keyInputDim: ${valueInputDim} and ${keyInputDim}`,
    );
}

/** Reads the batch size and length of [B, S, width] or [S, width]; in layout "BES" of [B, width, S] or [width, S]. */
export function readRows(
  operation: string,
  name: string,
  { shape }: PlacedFloats,
  layout: "BSE" | "BES",
  width: number,
  option: string,
): Rows {
  const rank = shape.length;
  if (rank !== 2 && rank !== 3)
    throw new ShapeError(`${operation}: ${name} must have rank 3, or 2 for one batch, got shape ${describe(shape)}`);
  const axis = widthAxis(layout, rank);
  if (shape[axis] !== width)
    throw new ShapeError(`${operation}: ${name}.shape[${axis}] must be ${option}, got ${shape[axis]} and ${width}`);
  const batchSize = rank === 3 ? shape[0]! : 1;
  assertBatch(operation, () => `${name}.shape[0]`, batchSize, shape);
  return { batchSize, length: shape[layout === "BSE" ? rank - 2 : rank - 1]! };
}

/** The axis of the features. */
export function widthAxis(layout: "BSE" | "BES", rank: number): number {
  return layout === "BSE" ? rank - 1 : rank - 2;
}
