import type { Attention } from "../instance/attention.js";
import { PANEL_WIDTH, type WeightDtype } from "../linear/weight.js";
import { product } from "../tensor/product.js";
import { BYTES, type WeightFloat } from "../tensor/tensor.js";

/** Bytes that a part of a model needs. */
export interface PartBytes {
  /** What it keeps, as `model.bytes` counts it. */
  readonly kept: number;
  /** How much of that lies in the memory of the instance. */
  readonly inInstance: number;
  /** What the instance's memory needs besides, while the part is loaded. */
  readonly passing: number;
}

/** Bytes of a model with one precision. */
export interface ModelBytes {
  /** What its weights take, as `model.bytes` counts it. */
  readonly kept: number;
  /** The most that loading needs of the instance's memory at a time. */
  readonly needed: number;
}

/** A tensor that a part needs. */
interface Shaped {
  readonly shape: readonly number[];
}

/** Bytes of a vector. It is kept in JavaScript, as float32. */
export function vectorBytes(width: number): PartBytes {
  return { kept: 4 * width, inInstance: 0, passing: 0 };
}

/** Bytes of a matrix outside of layers. The scales of int8 are kept in JavaScript. */
export function matrixBytes(
  { shape }: Shaped,
  dtype: WeightDtype,
  outputs: number,
  { isInInstance, hasPanels }: { readonly isInInstance: boolean; readonly hasPanels: boolean },
): PartBytes {
  const filled = hasPanels && dtype !== "int8" ? inPanels(outputs) : outputs;
  const numbers = BYTES[dtype] * (product(shape) / outputs) * filled;
  const scales = dtype === "int8" ? 4 * outputs : 0;
  return { kept: numbers + scales, inInstance: isInInstance ? numbers : 0, passing: 0 };
}

/** What an attention layer keeps, in numbers. */
export interface LayerWidths {
  /** The widths of its four maps. */
  readonly maps: readonly { readonly in: number; readonly out: number }[];
  /** Bytes of what it keeps besides: gains of norms, and factors of rotary positions. */
  readonly others: number;
}

/**
 * Bytes of an attention layer: for each of its four maps from `in` to `out` the numbers, out biases, and unless it keeps
 * float32 room in which it rounds (cpp/src/layer/projection.h). Its tensors are copied before they are packed.
 *
 * @param tensors - Its tensors in the files.
 */
export function layerBytes({ maps, others }: LayerWidths, tensors: readonly Shaped[], dtype: WeightDtype): PartBytes {
  const kept = maps.reduce((sum, map) => sum + mapBytes(map, dtype), others);
  const copied = ({ shape }: Shaped) => product(shape) * BYTES[givenDtype(shape, dtype)];
  return { kept, inInstance: kept, passing: tensors.reduce((sum, tensor) => sum + copied(tensor), 0) };
}

/** The dtype in which a tensor is given to an attention layer: the engine itself rounds to int8. Vectors stay float32. */
export function givenDtype(shape: readonly number[], kept: WeightDtype): WeightFloat {
  return shape.length > 1 && kept !== "int8" ? kept : "float32";
}

function mapBytes(map: { readonly in: number; readonly out: number }, dtype: WeightDtype): number {
  const filled = inPanels(map.out);
  if (dtype === "float32") return 4 * (map.in + 1) * filled;
  const row = 4 * Math.max(map.in, PANEL_WIDTH);
  return dtype === "int8" ? map.in * map.out + row + 8 * filled : BYTES[dtype] * map.in * filled + row + 4 * filled;
}

/** Outputs with those that fill the last panel. */
const inPanels = (outputs: number) => PANEL_WIDTH * Math.ceil(outputs / PANEL_WIDTH);

/** Bytes of parts that are loaded one after another. */
export function sumOf(parts: readonly PartBytes[]): ModelBytes {
  let [kept, inInstance, needed] = [0, 0, 0];
  for (const part of parts) {
    kept += part.kept;
    inInstance += part.inInstance;
    needed = Math.max(needed, inInstance + part.passing);
  }
  return { kept, needed };
}

/** Whether matrices lie in the memory of an instance. Otherwise they lie in JavaScript: beside a GPU or a worker. */
export function keepsMatrices(hw: Attention): boolean {
  if (hw.report.backend === "webgpu") return false;
  try {
    using probe = hw.allocate([1]);
    return probe.data.buffer.byteLength > probe.data.byteLength;
  } catch {
    return false; // a worker without shared memory
  }
}

/** Whether matrices of floats that are multiplied are kept in panels: WebGPU reads other orders. */
export const keepsPanels = (hw: Attention): boolean => hw.report.backend !== "webgpu";
