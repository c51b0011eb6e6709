import { fromBfloat, fromHalf } from "../tensor/half.js";

/** The dtypes of `.safetensors` files that are read, and the bytes of a number. float32 holds all of their numbers. */
export const STORED_BYTES = { F32: 4, F16: 2, BF16: 2 } as const;

export type StoredDtype = keyof typeof STORED_BYTES;

/** Numbers of a file as float32. It is exact. */
export function widened(stored: StoredDtype, bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  switch (stored) {
    case "F32":
      return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    case "F16":
      return fromHalf(words(bytes));
    case "BF16":
      return fromBfloat(words(bytes));
  }
}

/** The bit patterns of 16-bit numbers. */
export const words = ({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>) =>
  new Uint16Array(buffer, byteOffset, length / 2);
