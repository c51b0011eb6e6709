import { OptionError } from "../base/errors.js";
import type { OutputForm } from "../read/outputForm.js";
import { BYTES, elementCount, type Dtype, type PlacedTensor } from "../tensor/tensor.js";
import type { AttentionSettings } from "./attentionSettings.js";

/** The tensors among the settings. */
export function masks({ mask, bias }: AttentionSettings): { mask?: PlacedTensor; bias?: PlacedTensor } {
  return { ...(mask && { mask: mask.tensor }), ...(bias && { bias: bias.tensor }) };
}

/** Throws if `into` overlaps an input, because the core reads its inputs while it writes its output. */
export function refuseOverlap(
  operation: string,
  { into, shape, dtype }: OutputForm,
  inputs: Readonly<Record<string, PlacedTensor | undefined>>,
): void {
  const address = into?.place.address;
  if (address === undefined) return;
  const [begin, end] = [address, address + bytesOf(operation, shape, dtype)];
  for (const [name, input] of Object.entries(inputs)) {
    if (input?.address === undefined) continue;
    if (input.address < end && begin < input.address + bytesOf(operation, input.shape, input.dtype))
      throw new OptionError(`${operation}: into must not overlap ${name}, which lies in the same engine tensor`);
  }
}

function bytesOf(operation: string, shape: readonly number[], dtype: Dtype): number {
  return elementCount(operation, "tensor", shape) * BYTES[dtype];
}
