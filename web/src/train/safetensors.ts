import { describe } from "../base/describe.js";
import { OptionError, OutOfMemoryError, UnsupportedError } from "../base/errors.js";
import { assertIntactNow } from "../base/intact.js";
import { arrayKind, viewOf } from "../base/typedArray.js";
import type { Floats } from "../tensor/plainTensor.js";
import { flatNamed, treeOf, type Tree } from "./parameterTree.js";
import { assertNoHoles, headerPlace, METADATA, storedTensors, type StoredTensor } from "./safetensorsHeader.js";
import { STORED_BYTES, widened, type StoredDtype } from "./storedFloats.js";

/** The numbers begin at a multiple of it, as the format asks. */
const ALIGNMENT = 8;

/**
 * The bytes of a `.safetensors` file with the tensors of a tree as F32, by their names as `flatten` gives them. The
 * format (https://huggingface.co/docs/safetensors) is the length of a JSON header in 8 bytes, the header, and the
 * numbers, all little-endian.
 *
 * @throws OptionError if a name is the beginning of another one: `loadSafetensors` would refuse the file.
 * @throws OutOfMemoryError if JavaScript has no memory for so many bytes.
 */
export function saveSafetensors(tree: Tree): Uint8Array<ArrayBuffer> {
  const flat = flatNamed("saveSafetensors", "tree", tree);
  treeOf("saveSafetensors", "tree", flat);
  const tensors = Object.entries(flat);
  if (tensors.some(([name]) => name === METADATA))
    throw new OptionError(
      `saveSafetensors: no tensor may have the name "${METADATA}", which the format keeps for notes`,
    );
  let offset = 0;
  const entries = tensors.map(([name, { data, shape }]) => {
    const from = offset;
    offset += data.length * STORED_BYTES.F32;
    return [name, { dtype: "F32", shape, data_offsets: [from, offset] }] as const;
  });
  const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const start = Math.ceil((8 + header.length) / ALIGNMENT) * ALIGNMENT;
  const file = newFile(start + offset);
  new DataView(file.buffer).setBigUint64(0, BigInt(start - 8), true);
  file.fill(0x20, 8, start).set(header, 8);
  let at = start / STORED_BYTES.F32;
  for (const [, { data }] of tensors) {
    new Float32Array(file.buffer).set(data, at);
    at += data.length;
  }
  return file;
}

function newFile(size: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(size);
  } catch (cause) {
    throw new OutOfMemoryError(`saveSafetensors: a file of ${size} bytes does not fit the memory of JavaScript`, {
      cause,
    });
  }
}

/**
 * The tensors of a `.safetensors` file as a tree: `unflatten` of their names. F16 and BF16 become
 * float32, which is exact. The tensors are copies.
 *
 * @throws OptionError with code `"CORRUPT_DATA"` if the bytes are no such file, or are damaged.
 * @throws OptionError if a name is the beginning of another one.
 * @throws UnsupportedError if a tensor has another dtype.
 */
export function loadSafetensors(bytes: Uint8Array): { [name: string]: Tree } {
  if (arrayKind(bytes) !== "Uint8Array")
    throw new OptionError(`loadSafetensors: bytes must be a Uint8Array, got ${describe(bytes)}`);
  assertIntactNow("loadSafetensors", "bytes", bytes);
  const file = viewOf(bytes) as Uint8Array; // a Buffer's slice would not copy
  const header = headerPlace(NAME, file, file.length);
  const tensors = storedTensors(NAME, file.subarray(header.from, header.to), file.length);
  assertNoHoles(NAME, tensors, header.to, file.length);
  const flat = Object.fromEntries([...tensors].map(([name, stored]) => [name, read(name, stored, file)]));
  return treeOf("loadSafetensors", "bytes", flat);
}

const NAME = { operation: "loadSafetensors", file: "bytes" };

function read(name: string, { dtype, shape, from, to }: StoredTensor, file: Uint8Array): Floats {
  if (!Object.hasOwn(STORED_BYTES, dtype))
    throw new UnsupportedError(
      `loadSafetensors: tensor ${describe(name)} must be ${Object.keys(STORED_BYTES).join(", ")}, got ${dtype}`,
    );
  return { data: widened(dtype as StoredDtype, file.slice(from, to)), shape };
}
