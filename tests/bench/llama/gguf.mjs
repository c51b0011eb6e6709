// Writes GGUF files, version 3: the format of llama.cpp. All numbers are little-endian.

import { BLOCK, BLOCK_BYTES, toQ8 } from "./q8.mjs";
import { sizeOf } from "./tensors.mjs";

const VERSION = 3;
export const ALIGNMENT = 32;

const number = (size, set) => (value) => {
  const view = new DataView(new ArrayBuffer(size));
  view[set](0, value, true);
  return new Uint8Array(view.buffer);
};
const uint32 = number(4, "setUint32");
const uint64 = (value) => number(8, "setBigUint64")(BigInt(value));
const string = (text) => {
  const bytes = new TextEncoder().encode(text);
  return joined([uint64(bytes.length), bytes]);
};

/** The types of metadata, with their codes. */
const TYPES = {
  uint32: { code: 4, write: uint32 },
  int32: { code: 5, write: number(4, "setInt32") },
  float32: { code: 6, write: number(4, "setFloat32") },
  bool: { code: 7, write: (value) => Uint8Array.of(Number(value)) },
  string: { code: 8, write: string },
};
const ARRAY = 9;

/** The forms of tensors, with their codes. */
const FORMS = {
  float32: { code: 0, bytesOf: (size) => 4 * size, write: (numbers) => new Uint8Array(numbers.buffer) },
  q8: { code: 8, bytesOf: (size) => (size / BLOCK) * BLOCK_BYTES, write: toQ8 },
};

/**
 * A file.
 *
 * @param metadata - by name `[type, value]`, or `[type, values]` for an array
 * @param tensors - `{ name, shape, form, numbers }`: the form is "float32" or "q8", and `numbers()` makes the numbers
 */
export function ggufFile(metadata, tensors) {
  let end = 0;
  const placed = tensors.map((tensor) => {
    const offset = end;
    end = aligned(offset + FORMS[tensor.form].bytesOf(sizeOf(tensor.shape)));
    return { ...tensor, offset };
  });
  const entries = Object.entries(metadata);
  const start = [new TextEncoder().encode("GGUF"), uint32(VERSION), uint64(placed.length), uint64(entries.length)];
  const header = joined([...start, ...entries.map(metadataBytes), ...placed.map(tensorBytes)]);
  const data = aligned(header.length);
  const file = new Uint8Array(data + end);
  file.set(header);
  for (const { form, numbers, offset } of placed) file.set(FORMS[form].write(numbers()), data + offset);
  return file;
}

const aligned = (length) => Math.ceil(length / ALIGNMENT) * ALIGNMENT;

function metadataBytes([name, [type, value]]) {
  const { code, write } = TYPES[type];
  if (!Array.isArray(value)) return joined([string(name), uint32(code), write(value)]);
  return joined([string(name), uint32(ARRAY), uint32(code), uint64(value.length), ...value.map(write)]);
}

/** The extents of a tensor begin with that of a row. */
function tensorBytes({ name, shape, form, offset }) {
  const extents = shape.toReversed().map(uint64);
  return joined([string(name), uint32(shape.length), ...extents, uint32(FORMS[form].code), uint64(offset)]);
}

function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
