import { describe, isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { isShape } from "../tensor/plainTensor.js";
import { product } from "../tensor/product.js";

/** The bits of a number, by the dtypes of the format. What size others have is not known. */
const BITS: Readonly<Record<string, number>> = {
  ...{ F4: 4, F6_E2M3: 6, F6_E3M2: 6 },
  ...{ BOOL: 8, U8: 8, I8: 8, F8_E5M2: 8, F8_E4M3: 8, F8_E8M0: 8, F8_E5M2FNUZ: 8, F8_E4M3FNUZ: 8 },
  ...{ I16: 16, U16: 16, F16: 16, BF16: 16 },
  ...{ I32: 32, U32: 32, F32: 32 },
  ...{ I64: 64, U64: 64, F64: 64, C64: 64 },
};

/** The name of the header's notes, which are no tensor. */
export const METADATA = "__metadata__";

/** Bytes of the header's length. */
const LENGTH_BYTES = 8;

/** The longest header that the format allows, in bytes. */
const LONGEST_HEADER = 100_000_000;

/** What a `.safetensors` file says of a tensor. */
export interface StoredTensor {
  /** `"F32"`, `"F16"`, `"BF16"`, or another name of the format. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The first byte of its numbers in the file, and the byte after the last one. */
  readonly from: number;
  readonly to: number;
}

/** A `.safetensors` file in messages: `loadSafetensors: bytes`. */
export interface SafetensorsName {
  readonly operation: string;
  readonly file: string;
}

/**
 * The place of the header in a file (https://huggingface.co/docs/safetensors): the file begins with the length of the
 * header in 8 bytes, little-endian. Then come the header, and the numbers.
 *
 * @param start - The first bytes of the file, at least 8 if it has them.
 * @param size - Bytes of the whole file.
 * @throws OptionError with code `"CORRUPT_DATA"` if there is no room for the header.
 */
export function headerPlace(name: SafetensorsName, start: Uint8Array, size: number) {
  if (start.length < LENGTH_BYTES) throw corrupt(name, "it is shorter than 8 bytes");
  const length = Number(new DataView(start.buffer, start.byteOffset).getBigUint64(0, true));
  if (length > size - LENGTH_BYTES) throw corrupt(name, "the header is longer than the file");
  if (length > LONGEST_HEADER) throw corrupt(name, `the header is longer than ${LONGEST_HEADER} bytes`);
  return { from: LENGTH_BYTES, to: LENGTH_BYTES + length };
}

/**
 * The tensors of a file by name.
 *
 * @param header - The bytes of the header: JSON.
 * @param size - Bytes of the whole file.
 * @throws OptionError with code `"CORRUPT_DATA"` if the header is damaged: if it is not JSON, if two tensors have one name,
 *   if a tensor's bytes do not fit its shape or lie outside of the file, or if bytes belong to two tensors.
 */
export function storedTensors(name: SafetensorsName, header: Uint8Array, size: number): Map<string, StoredTensor> {
  const start = LENGTH_BYTES + header.length;
  const tensors = Object.entries(parsed(name, header))
    .filter(([tensor]) => tensor !== METADATA)
    .map(([tensor, entry]) => [tensor, storedTensor(name, tensor, entry, start, size)] as const);
  const inOrder = [...tensors].sort(([, a], [, b]) => a.from - b.from || a.to - b.to);
  inOrder.forEach(([tensor, { from }], n) => {
    const [before, { to }] = inOrder[n - 1] ?? [tensor, { to: from }];
    if (to > from) throw corrupt(name, `tensors ${describe(before)} and ${describe(tensor)} share bytes`);
  });
  return new Map(tensors);
}

/**
 * Throws if bytes of a file belong to no tensor, which the format forbids.
 *
 * @param start - The first byte after the header.
 */
export function assertNoHoles(
  name: SafetensorsName,
  tensors: ReadonlyMap<string, StoredTensor>,
  start: number,
  size: number,
): void {
  let end = start;
  for (const [tensor, { from, to }] of [...tensors].sort(([, a], [, b]) => a.from - b.from || a.to - b.to)) {
    if (end < from) throw corrupt(name, `the bytes before tensor ${describe(tensor)} belong to no tensor`);
    end = to;
  }
  if (end < size) throw corrupt(name, `its last ${size - end} bytes belong to no tensor`);
}

function parsed(name: SafetensorsName, bytes: Uint8Array): object {
  let text = "";
  let header: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes); // other bytes would make equal names
    header = JSON.parse(text);
  } catch {
    // as undefined
  }
  if (!isObject(header) || Array.isArray(header)) throw corrupt(name, "the header is no JSON object");
  if (namesIn(text) !== Object.keys(header).length) throw corrupt(name, "two tensors have the same name");
  return header;
}

/** How many names the object in a JSON text has. JSON.parse keeps the last of equal ones, in silence. */
function namesIn(text: string): number {
  let depth = 0;
  let names = 0;
  let isInString = false;
  // one expression for a whole string would run out of stack in a long one
  for (const [token] of text.matchAll(/\\.|["{}[\]:]/g)) {
    if (token === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (token === ":" && depth === 1) names += 1;
  }
  return names;
}

function storedTensor(name: SafetensorsName, tensor: string, entry: unknown, start: number, size: number) {
  const { dtype, shape, data_offsets: range } = (entry ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof dtype !== "string" || !isShape(shape) || !isShape(range) || range.length !== 2)
    throw corrupt(name, `tensor ${describe(tensor)} has no dtype, no shape or no data_offsets`);
  const [from, to] = range as [number, number];
  const wanted = Object.hasOwn(BITS, dtype) ? (product(shape) * BITS[dtype]!) / 8 : to - from;
  if (to < from || to > size - start || to - from !== wanted)
    throw corrupt(
      name,
      `tensor ${describe(tensor)} has shape ${describe(shape)} and the bytes from ${from} to ${to}, ` +
        `which do not fit, or lie outside of the ${size - start} bytes of the file`,
    );
  return { dtype, shape, from: start + from, to: start + to };
}

/** The error for bytes that are no `.safetensors` file. */
function corrupt({ operation, file }: SafetensorsName, why: string): OptionError {
  return new OptionError(`${operation}: ${file} is no .safetensors file, or is damaged: ${why}`, {
    code: "CORRUPT_DATA",
  });
}
