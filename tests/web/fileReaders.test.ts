// Readers of files that users give. Files are damaged at random, with fast-check: bytes are changed, inserted, removed and
// moved, and headers are put together anew. HEADWISE_FUZZ_RUNS says how many files each test tries, HEADWISE_FUZZ_SEED
// which ones. The row "fuzz" of `npm run trust` sets both.

import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { HeadwiseError, toFloat16 } from "headwise";
import { flatten, loadSafetensors, random, saveSafetensors } from "headwise/train";

import { readNpy, writeNpy } from "../../web/demo/lab/rooms/tensors/files/npy.js";
import { FileError } from "../../web/demo/lab/rooms/tensors/files/numbers.js";
import { openSafetensors } from "../../web/demo/lab/rooms/tensors/files/safetensors.js";
import { ModelFiles } from "../../web/src/models/modelFiles.js";
import { TensorFiles } from "../../web/src/models/tensorFiles.js";
import { runsOf } from "./depth.js";
import { safetensors } from "./safetensorsFile.js";

const RUNS = {
  numRuns: Number(process.env.HEADWISE_FUZZ_RUNS ?? runsOf(2000)),
  seed: Number(process.env.HEADWISE_FUZZ_SEED ?? 1),
};

interface Read {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

const bytesOf = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

const GOOD_SAFETENSORS = [
  saveSafetensors({}),
  saveSafetensors({ x: random(1).normal([2, 2]), layers: [{ Wq: random(2).normal([3]) }] }),
  safetensors({
    x: { dtype: "F16", shape: [3], bytes: bytesOf(toFloat16([1, -2, 65504])) },
    y: { dtype: "F32", shape: [0, 4], bytes: new Uint8Array(0) },
  }),
  safetensors({ "x.__proto__": { dtype: "I64", shape: [1], bytes: new Uint8Array(8) } }),
];
const GOOD_NPY = [
  writeNpy([3], Float32Array.of(1, 2, 3)),
  writeNpy([2, 0], new Float32Array(0)),
  writeNpy([], Float32Array.of(NaN)),
];

/** A change of some bytes. Places are fractions of the length, so that a change fits every file. */
interface Edit {
  readonly kind: string;
  readonly at: number;
  readonly from: number;
  readonly bytes: Uint8Array;
}

const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom("set", "insert", "remove", "copy"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  from: fc.double({ min: 0, max: 1, noNaN: true }),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 9 }),
    fc
      .constantFrom("0", "-1", "1e9", "9007199254740993", "null", "[", "}", '"shape"', ":", ",", "'<f8'", "True", "()")
      .map((text) => new TextEncoder().encode(text)),
  ),
});

function edited(file: Uint8Array, { kind, at, from, bytes }: Edit): Uint8Array {
  const place = Math.floor(at * file.length);
  const source = Math.floor(from * file.length);
  const put = kind === "copy" ? file.slice(source, source + bytes.length) : bytes;
  const rest = place + (kind === "insert" ? 0 : bytes.length);
  return new Uint8Array([...file.slice(0, place), ...(kind === "remove" ? [] : put), ...file.slice(rest)]);
}

/** Good files with some edits. */
const damaged = (good: readonly Uint8Array[]) =>
  fc
    .tuple(fc.constantFrom(...good), fc.array(edit, { maxLength: 4 }))
    .map(([file, edits]) => edits.reduce<Uint8Array>(edited, file));

const extent = fc.oneof(fc.nat(4), fc.constantFrom(-1, 0.5, 2 ** 31, 2 ** 53, null, "2"));

/** Files with a header that is JSON, and says anything of its tensors. */
const withHeader = fc
  .tuple(
    fc.dictionary(
      fc.constantFrom("x", "y", "x.y", "__proto__", "__metadata__", "constructor", ""),
      fc.oneof(
        {
          weight: 5,
          arbitrary: fc.record(
            {
              dtype: fc.constantFrom("F32", "F16", "BF16", "I64", "BOOL", "toString", 4),
              shape: fc.array(extent, { maxLength: 3 }),
              data_offsets: fc.array(fc.oneof(fc.nat(24), extent), { minLength: 1, maxLength: 3 }),
            },
            { requiredKeys: [] },
          ),
        },
        { weight: 1, arbitrary: fc.jsonValue() as fc.Arbitrary<object> },
      ),
      { noNullPrototype: true },
    ),
    fc.uint8Array({ maxLength: 24 }),
  )
  .map(([header, numbers]) => {
    const text = new TextEncoder().encode(JSON.stringify(header));
    const length = bytesOf(BigUint64Array.of(BigInt(text.length)));
    return new Uint8Array([...length, ...text, ...numbers]);
  });

/** `.npy` files with a header of any values. */
const withNpyHeader = fc
  .tuple(
    fc.constantFrom("<f4", "<f8", "<f2", "|b1", "<i8", ">f4", "<U3", "|u1"),
    fc.constantFrom("True", "False"),
    fc.array(fc.oneof(fc.nat(4), fc.constantFrom(1e9, 4294967297, 1e17)), { maxLength: 4 }),
    fc.uint8Array({ maxLength: 64 }),
    fc.constantFrom(1, 2, 3, 0, 255),
  )
  .map(([type, order, shape, numbers, version]) => {
    const header = `{'descr': '${type}', 'fortran_order': ${order}, 'shape': (${shape.join(", ")},), }\n`;
    const length = version === 1 ? [header.length, 0] : [header.length, 0, 0, 0];
    return new Uint8Array([0x93, ...Buffer.from("NUMPY"), version, 0, ...length, ...Buffer.from(header), ...numbers]);
  });

const isError = (error: unknown) => HeadwiseError.is(error);
const isFileError = (error: unknown) => error instanceof FileError;

/** What a reader gives, or undefined if it refuses the file in its own words. */
function readBy<T>(isRefusal: (error: unknown) => boolean, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return undefined;
  }
}

const numbersOf = ({ shape }: Read) => shape.reduce((product, count) => product * count, 1);
const expectWhole = (tensor: Read) => expect(tensor.data.length).toBe(numbersOf(tensor));

/** Reads one file with both readers of `.safetensors`. */
function readTwice(file: Uint8Array): void {
  const before = file.slice();
  const ours = readBy(isError, () => flatten(loadSafetensors(file)));
  const lab = readBy(isFileError, () => openSafetensors(file).map((entry) => entry.read()));
  expect(Buffer.compare(before, file)).toBe(0);
  for (const tensor of [...Object.values(ours ?? {}), ...(lab ?? [])]) expectWhole(tensor);
  if (!ours || !lab) return;
  const named = Object.fromEntries(lab.map(({ name, shape, data }) => [name, { shape, data }]));
  expect(named).toEqual(ours);
}

/** Opens a file as that of a model, and reads what may be in it. */
async function readInPieces(file: Uint8Array): Promise<void> {
  let tensors: TensorFiles;
  try {
    const files = new ModelFiles("test", { "model.safetensors": file }, { anchor: "config.json" });
    tensors = await TensorFiles.open("test", files, false);
  } catch (error) {
    if (!isError(error)) throw error;
    return;
  }
  for (const name of ["x", "y", "x.y", "layers.0.Wq"])
    for (const shape of [[3], [2, 2], [0, 4]]) {
      const found = tensors.has(name) ? readBy(isError, () => tensors.tensor(name, shape)) : undefined;
      if (!found) continue;
      let numBytes = 0;
      const wanted = [{ tensor: found, isWhole: false }];
      for await (const piece of tensors.pieces(wanted, undefined)) numBytes += piece.bytes.length;
      expect(numBytes).toBe(found.numBytes);
    }
}

describe("Files of any bytes", () => {
  test("are read as .safetensors by both readers with the same numbers, or refused in words", () => {
    fc.assert(fc.property(fc.oneof(damaged(GOOD_SAFETENSORS), withHeader), readTwice), RUNS);
  });

  test("are opened as those of a model, and read whole, or refused in words", async () => {
    await fc.assert(fc.asyncProperty(fc.oneof(damaged(GOOD_SAFETENSORS), withHeader), readInPieces), RUNS);
  });

  test("are read as .npy with as many numbers as the shape says, or refused in words", () => {
    const read = (file: Uint8Array) => {
      const tensor = readBy(isFileError, () => readNpy(file, "test"));
      if (tensor) expectWhole(tensor);
    };
    fc.assert(fc.property(fc.oneof(damaged(GOOD_NPY), withNpyHeader), read), RUNS);
  });
});
