import { elementCount, FileError, readNumbers, type FileTensor, type NumberType } from "./numbers.js";
import { t } from "../../../../texts/t.js";

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
  if (bytes.byteLength < 8) throw new FileError(t`is no .safetensors file: it is shorter than 8 bytes`);
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (8 + length > bytes.byteLength)
    throw new FileError(t`is no .safetensors file, or is cut short: its header is longer than the file`);
  const numbers = bytes.subarray(8 + length);
  return Object.entries(headerOf(bytes.subarray(8, 8 + length)))
    .filter(([name]) => name !== "__metadata__")
    .map(([name, entry]) => entryOf(name, checked(name, entry, numbers.byteLength), numbers));
}

function headerOf(bytes: Uint8Array): object {
  const header = json(bytes);
  if (typeof header === "object" && header !== null && !Array.isArray(header)) return header;
  throw new FileError(t`is no .safetensors file: its header is no list of tensors`);
}

function json(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new FileError(t`is no .safetensors file: its header is not JSON`);
  }
}

function checked(name: string, entry: unknown, bytes: number): Entry {
  const { dtype, shape, data_offsets: range } = (entry ?? {}) as Partial<Record<keyof Entry, unknown>>;
  const areExtents = (list: unknown): list is number[] =>
    Array.isArray(list) && list.every((extent) => Number.isSafeInteger(extent) && extent >= 0);
  if (typeof dtype !== "string" || !areExtents(shape))
    throw new FileError(t`has a tensor “${name}” without a type or a shape`);
  if (!areExtents(range) || range.length !== 2 || range[0]! > range[1]! || range[1]! > bytes)
    throw new FileError(t`is cut short or damaged: the numbers of “${name}” lie outside the file`);
  return { dtype, shape, data_offsets: [range[0]!, range[1]!] };
}

function entryOf(name: string, { dtype, shape, data_offsets: [from, to] }: Entry, numbers: Uint8Array): FileEntry {
  const read = () => {
    const type = Object.hasOwn(TYPES, dtype) ? TYPES[dtype] : undefined;
    if (!type) throw new FileError(t`holds “${name}” as ${dtype}; this page reads ${Object.keys(TYPES).join(", ")}`);
    const data = readNumbers(numbers.subarray(from, to), type, elementCount(shape));
    return { name, shape, data, stored: dtype };
  };
  return { name, shape, stored: dtype, read };
}
