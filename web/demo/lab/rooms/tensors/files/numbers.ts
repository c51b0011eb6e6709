import { t } from "../../../../texts/t.js";

/** A tensor from a file. Its numbers are converted to float32. */
export interface FileTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
  /** The file's name for the type of its numbers. */
  readonly stored: string;
}

/** A file that cannot be read. The message says why. */
export class FileError extends Error {
  override readonly name = "FileError";
}

export type NumberType = "f16" | "bf16" | "f32" | "f64" | "i8" | "u8" | "i16" | "i32" | "i64" | "bool";

const WIDTHS: Readonly<Record<NumberType, number>> = {
  f16: 2,
  bf16: 2,
  f32: 4,
  f64: 8,
  i8: 1,
  u8: 1,
  i16: 2,
  i32: 4,
  i64: 8,
  bool: 1,
};

/** Reads little-endian numbers as float32. */
export function readNumbers(bytes: Uint8Array, type: NumberType, count: number): Float32Array<ArrayBuffer> {
  const width = WIDTHS[type];
  if (bytes.byteLength !== count * width)
    throw new FileError(t`holds ${bytes.byteLength} bytes of numbers where its shape asks for ${count} × ${width}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = READERS[type];
  const numbers = new Float32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = read(view, i * width);
  return numbers;
}

const READERS: Readonly<Record<NumberType, (view: DataView, at: number) => number>> = {
  f16: (view, at) => fromHalf(view.getUint16(at, true)),
  bf16: (view, at) => fromBits(view.getUint16(at, true) << 16),
  f32: (view, at) => view.getFloat32(at, true),
  f64: (view, at) => view.getFloat64(at, true),
  i8: (view, at) => view.getInt8(at),
  u8: (view, at) => view.getUint8(at),
  i16: (view, at) => view.getInt16(at, true),
  i32: (view, at) => view.getInt32(at, true),
  i64: (view, at) => Number(view.getBigInt64(at, true)),
  bool: (view, at) => view.getUint8(at),
};

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 0x1f, bits & 0x3ff];
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

const word = new DataView(new ArrayBuffer(4));
function fromBits(bits: number): number {
  word.setInt32(0, bits);
  return word.getFloat32(0);
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}
