import { elementCount, FileError, readNumbers, type FileTensor, type NumberType } from "./numbers.js";

const TYPES: Readonly<Record<string, NumberType>> = {
  F16: "f16",
  BF16: "bf16",
  F32: "f32",
  F64: "f64",
  I8: "i8",
  U8: "u8",
  I16: "i16",
  I32: "i32",
  I64: "i64",
  BOOL: "bool",
};

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** A tensor of a file. It is read only when a room needs it: a file of weights may have many tensors. */
export interface FileEntry {
  readonly name: string;
  readonly shape: readonly number[];
  readonly stored: string;
  read(): FileTensor;
}

/** The tensors of a `.safetensors` file. */
export function openSafetensors(bytes: Uint8Array): FileEntry[] {
  if (bytes.byteLength < 8) throw new FileError("is no .safetensors file: it is too short");
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const entries = headerOf(bytes, length);
  return Object.entries(entries)
    .filter(([name]) => name !== "__metadata__")
    .map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [from, to],
        },
      ]) => ({
        name,
        shape,
        stored: dtype,
        read() {
          const type = TYPES[dtype];
          if (!type) throw new FileError(`${name} holds ${dtype}, which this page does not read`);
          const data = readNumbers(bytes.subarray(8 + length + from, 8 + length + to), type, elementCount(shape));
          return { name, shape, data, stored: dtype };
        },
      }),
    );
}

function headerOf(bytes: Uint8Array, length: number): Readonly<Record<string, Entry>> {
  if (8 + length > bytes.byteLength) throw new FileError("is no .safetensors file, or is cut short");
  try {
    return JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as Record<string, Entry>;
  } catch {
    throw new FileError("is no .safetensors file: its header is not JSON");
  }
}
