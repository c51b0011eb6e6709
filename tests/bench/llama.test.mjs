import { describe, expect, test } from "@jest/globals";

import { createAttention } from "../../dist/index.node.js";
import { loadModel } from "../../dist/models.js";
import { ALIGNMENT, ggufFile } from "./llama/gguf.mjs";
import { ggufModel } from "./llama/ggufModel.mjs";
import { halfBits, halfValue } from "./llama/half.mjs";
import { BLOCK, BLOCK_BYTES, toQ8 } from "./llama/q8.mjs";
import { safetensorsModel } from "./llama/safetensorsModel.mjs";
import { configOf, SHAPES } from "./llama/shapes.mjs";
import { countOf, numbersOf, sizeOf, tensorsOf } from "./llama/tensors.mjs";

const SMALL = { ...SHAPES[30], width: 64, heads: 2, kvHeads: 1, dim: 32, hidden: 96, layers: 2, vocabulary: 300 };

/** Reads a file back, by the description of the format. */
function parse(file) {
  const view = new DataView(file.buffer);
  let at = 0;
  const take = (size, get) => view[get]((at += size) - size, true);
  const uint32 = () => take(4, "getUint32");
  const uint64 = () => Number(take(8, "getBigUint64"));
  const text = (length) => new TextDecoder().decode(file.subarray(at, (at += length)));
  const values = {
    4: uint32,
    5: () => take(4, "getInt32"),
    6: () => take(4, "getFloat32"),
    7: () => take(1, "getUint8") === 1,
    8: () => text(uint64()),
    9: () => {
      const [type, length] = [uint32(), uint64()];
      return Array.from({ length }, () => values[type]());
    },
  };
  const [magic, version, tensorCount, metadataCount] = [text(4), uint32(), uint64(), uint64()];
  const metadata = {};
  for (let n = 0; n < metadataCount; n++) metadata[text(uint64())] = values[uint32()]();
  const tensors = Array.from({ length: tensorCount }, () => {
    const [name, rank] = [text(uint64()), uint32()];
    const extents = Array.from({ length: rank }, uint64);
    return { name, extents, type: uint32(), offset: uint64() };
  });
  return { magic, version, metadata, tensors, data: Math.ceil(at / ALIGNMENT) * ALIGNMENT };
}

/** The numbers of blocks, and the scale of each number. */
function fromQ8(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = (bytes.length / BLOCK_BYTES) * BLOCK;
  return Array.from({ length: count }, (_, n) => {
    const at = Math.floor(n / BLOCK) * BLOCK_BYTES;
    const scale = halfValue(view.getUint16(at, true));
    return { value: view.getInt8(at + 2 + (n % BLOCK)) * scale, scale };
  });
}

describe("a GGUF file", () => {
  const numbers = Float32Array.from({ length: 2 * BLOCK }, (_, n) => n / 8 - 3);
  const metadata = {
    name: ["string", "größe"],
    count: ["uint32", 2 ** 32 - 1],
    share: ["float32", 0.25],
    is: ["bool", true],
    words: ["string", ["a", "", "bc"]],
    kinds: ["int32", [-1, 2]],
  };
  const tensors = [
    { name: "three", shape: [3], form: "float32", numbers: () => Float32Array.of(1, -2, 3) },
    { name: "rows", shape: [2, BLOCK], form: "q8", numbers: () => numbers },
    { name: "last", shape: [1], form: "float32", numbers: () => Float32Array.of(7) },
  ];
  const file = ggufFile(metadata, tensors);
  const parsed = parse(file);

  test("has a header of version 3, and its metadata", () => {
    expect(parsed).toMatchObject({ magic: "GGUF", version: 3 });
    expect(parsed.metadata).toEqual({
      ...{ name: "größe", count: 2 ** 32 - 1, share: 0.25, is: true, words: ["a", "", "bc"], kinds: [-1, 2] },
    });
  });

  test("names the extents of tensors from the row on, and aligns all data", () => {
    expect(parsed.tensors).toEqual([
      { name: "three", extents: [3], type: 0, offset: 0 },
      { name: "rows", extents: [BLOCK, 2], type: 8, offset: ALIGNMENT },
      { name: "last", extents: [1], type: 0, offset: 4 * ALIGNMENT }, // two blocks are 68 bytes
    ]);
    expect(file.length).toBe(parsed.data + 5 * ALIGNMENT);
  });

  test("holds the numbers at the places that it names", () => {
    const at = (n) => parsed.data + parsed.tensors[n].offset;
    expect([...new Float32Array(file.buffer, at(0), 3)]).toEqual([1, -2, 3]);
    expect([...file.subarray(at(1), at(1) + 2 * BLOCK_BYTES)]).toEqual([...toQ8(numbers)]);
    expect([...new Float32Array(file.buffer, at(2), 1)]).toEqual([7]);
  });
});

describe("Q8_0", () => {
  test.each([1, 2 ** -7, 40])("keeps numbers up to %d within half a step", (most) => {
    const numbers = Float32Array.from({ length: 8 * BLOCK }, (_, n) => most * Math.sin(n * n));
    for (const [n, { value, scale }] of fromQ8(toQ8(numbers)).entries())
      expect(Math.abs(value - numbers[n])).toBeLessThanOrEqual(scale / 2);
  });

  test("keeps zeros", () => {
    expect(fromQ8(toQ8(new Float32Array(BLOCK))).every(({ value }) => value === 0)).toBe(true);
  });
});

test.each([
  [1, 0x3c00],
  [-2, 0xc000],
  [1 + 2 ** -11, 0x3c00], // half a step: to even
  [1 + 3 * 2 ** -11, 0x3c02],
  [2 - 2 ** -11, 0x4000],
  [2 ** -14, 0x0400],
  [-(2 ** -24), 0x8001],
  [65504, 0x7bff],
])("%d is float16 %d", (x, bits) => {
  expect(halfBits(x)).toBe(bits);
  expect(halfBits(halfValue(bits))).toBe(bits);
});

/** The row of transformers that llama.cpp has at a place: its rows 0, 1, 2 … of a head are 0, half, 1 … there. */
function unpaired(row) {
  const n = row % SMALL.dim;
  return row - n + (n % 2 === 0 ? n / 2 : (n - 1 + SMALL.dim) / 2);
}

describe("a Llama with random weights", () => {
  const file = ggufModel(SMALL);
  const { metadata, tensors, data } = parse(file);

  test.each(Object.entries(SHAPES))("has about %s million weights, in rows of whole blocks", (millions, shape) => {
    expect(Math.abs(countOf(shape) / 1e6 / millions - 1)).toBeLessThan(0.03);
    for (const { shape: extents } of tensorsOf(shape)) expect(extents.at(-1) % BLOCK).toBe(0);
  });

  test("has as many tokens as rows of embeddings, each with its score and its kind", () => {
    const each = ["tokens", "scores", "token_type"].map((name) => metadata[`tokenizer.ggml.${name}`].length);
    expect(each).toEqual([SMALL.vocabulary, SMALL.vocabulary, SMALL.vocabulary]);
    expect(new Set(metadata["tokenizer.ggml.tokens"]).size).toBe(SMALL.vocabulary);
  });

  test("has the rows of queries and keys in pairs, and all others as they are", () => {
    for (const { gguf, turned, ...tensor } of tensorsOf(SMALL).filter(({ shape }) => shape.length === 2)) {
      const [from, [rows, width]] = [data + tensors.find(({ name }) => name === gguf).offset, tensor.shape];
      const stored = fromQ8(file.subarray(from, from + (sizeOf(tensor.shape) / BLOCK) * BLOCK_BYTES));
      const numbers = numbersOf(tensor);
      const isClose = ({ value, scale }, x) => Math.abs(value - x) <= scale / 2;
      const isRow = (row, other) => {
        const own = numbers.subarray(other * width, (other + 1) * width);
        return own.every((x, n) => isClose(stored[row * width + n], x));
      };
      for (let row = 0; row < rows; row++) expect([row, isRow(row, turned ? unpaired(row) : row)]).toEqual([row, true]);
    }
  });

  test("has the same numbers in a .safetensors file, exactly", () => {
    const stored = safetensorsModel(SMALL);
    const length = Number(new DataView(stored.buffer).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(stored.subarray(8, 8 + length)));
    for (const tensor of tensorsOf(SMALL)) {
      const { shape, data_offsets: [from, to] } = header[tensor.name]; // oxfmt-ignore
      const bits = new Uint16Array(stored.buffer, 8 + length + from, (to - from) / 2);
      expect(shape).toEqual(tensor.shape);
      expect([...bits].map(halfValue)).toEqual([...numbersOf(tensor)]);
    }
  });

  test("is read by loadModel", async () => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const json = new TextEncoder().encode(JSON.stringify(configOf(SMALL)));
    const files = { "config.json": json, "model.safetensors": safetensorsModel(SMALL) };
    const model = await loadModel(hw, files, { precision: "int8" });
    expect((await model.generate([5], { maxNewTokens: 1 }).next()).value.token).toBeLessThan(SMALL.vocabulary);
    model.dispose();
    hw.dispose();
  });
});
