import { describe } from "../describe.js";
import { OptionError, ShapeError } from "../errors.js";
import type { GpuData } from "../gpuData.js";

const STORAGE = 0x80;

/** Checks what a caller gave as the buffer of a tensor, as far as it shows: its kind, usage and size. */
export function checkBuffer(operation: string, { argument, buffer, offset, byteLength }: GpuData): void {
  const refuse = (rule: string, got: unknown) =>
    new OptionError(`${operation}: ${argument}${rule}, got ${describe(got)}`);
  if (typeof buffer !== "object" || typeof buffer.usage !== "number")
    throw refuse(".buffer must be a GPUBuffer", buffer);
  if ((buffer.usage & STORAGE) === 0) throw refuse(".buffer must have usage STORAGE", buffer.usage);
  if (!Number.isInteger(offset) || offset < 0 || offset % 4 !== 0)
    throw refuse(".offset must be a multiple of 4", offset);
  if (offset + byteLength > buffer.size)
    throw new ShapeError(
      `${operation}: ${argument} must fit its buffer, got ${byteLength} bytes at offset ${offset} of ${buffer.size}`,
    );
}
