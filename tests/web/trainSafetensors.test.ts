import { describe, expect, test } from "@jest/globals";
import { OptionError, OutOfMemoryError, toBfloat16, toFloat16, UnsupportedError } from "headwise";
import { flatten, loadSafetensors, random, saveSafetensors } from "headwise/train";

import { openSafetensors } from "../../web/demo/lab/rooms/tensors/files/safetensors.js";
import { safetensors } from "./safetensorsFile.js";
import { thrownBy } from "./thrownBy.js";

const tree = () => ({
  layers: [{ Wq: random(1).normal([3, 5]) }, { Wq: random(2).normal([3, 5]) }],
  "naïve 名": random(3).normal([1]),
  scalar: random(4).normal([]),
  empty: { data: new Float32Array(0), shape: [0, 4] },
});
const bytesOf = (array: Float32Array | Uint16Array | Int32Array) => new Uint8Array(array.buffer, 0, array.byteLength);

describe("Weights as .safetensors", () => {
  test("come back with their names, shapes and bits", () => {
    const given = tree();
    expect(flatten(loadSafetensors(saveSafetensors(given)))).toEqual(flatten(given));
  });

  test("begin at a multiple of 8 bytes, with a header that JSON reads", () => {
    const file = saveSafetensors(tree());
    const length = Number(new DataView(file.buffer).getBigUint64(0, true));
    expect(length % 8).toBe(0);
    const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length))) as Record<string, unknown>;
    expect(header["layers.1.Wq"]).toEqual({ dtype: "F32", shape: [3, 5], data_offsets: [60, 120] });
    expect(file.length).toBe(8 + length + 4 * (15 + 15 + 1 + 1));
  });

  test("are read by the lab's own reader", () => {
    const given = flatten(tree());
    const read = openSafetensors(saveSafetensors(given)).map((entry) => entry.read());
    const expected = Object.entries(given).map(([name, { data, shape }]) => ({ name, shape, data, stored: "F32" }));
    expect(read.map((each) => ({ ...each, data: Float32Array.from(each.data) }))).toEqual(expected);
  });

  test("of float16 become float32, exactly", () => {
    const numbers = Float32Array.of(1, -0.5, 65504, 2 ** -24, Infinity);
    const file = safetensors({
      half: { dtype: "F16", shape: [5], bytes: bytesOf(toFloat16(numbers)) },
    });
    const { half } = flatten(loadSafetensors(file));
    expect(half!.data).toEqual(numbers);
  });

  test("of bfloat16 become float32, exactly, and no longer share the file's bytes", () => {
    const numbers = Float32Array.of(1, -0.5, 2 ** 127, 2 ** -133, Infinity);
    const file = safetensors({ brain: { dtype: "BF16", shape: [5], bytes: bytesOf(toBfloat16(numbers)) } });
    const { brain } = flatten(loadSafetensors(file));
    file.fill(0);
    expect(brain).toEqual({ data: numbers, shape: [5] });
  });

  test("that no array holds are refused", () => {
    const large = { data: new Float32Array(2 ** 24), shape: [2 ** 24] };
    const names = Array.from({ length: 2 ** 15 }, (_, n) => [`${n}`, large] as const); // 2 TiB
    const error = thrownBy(() => saveSafetensors(Object.fromEntries(names)));
    expect(OutOfMemoryError.is(error)).toBe(true);
    expect(error.message).toMatch(/^saveSafetensors: a file of \d+ bytes does not fit the memory of JavaScript$/);
  });

  test("are copies, also of a Buffer", () => {
    const file = Buffer.from(saveSafetensors({ x: random(1).normal([4]) }));
    const before = loadSafetensors(file);
    file.fill(0);
    expect(before).toEqual({ x: random(1).normal([4]) });
  });

  test("that are damaged are refused", () => {
    const file = saveSafetensors({ x: random(1).normal([4]) });
    const headed = (header: string) => {
      const text = new TextEncoder().encode(header);
      const whole = new Uint8Array(8 + text.length + 16);
      whole[0] = text.length;
      whole.set(text, 8);
      return whole;
    };
    const notUtf8 = headed('{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}');
    notUtf8[10] = 0xff; // the name
    const of = (dtype: string, count: number) =>
      headed(`{"x":{"dtype":"${dtype}","shape":[${count}],"data_offsets":[0,16]}}`);
    const damaged = [
      ...(["F64", "I64", "I32", "I16", "BOOL", "F8_E4M3", "F4"] as const).map(
        (dtype) => [of(dtype, 9), `shape [9] and the bytes from 0 to 16, which do not fit`] as const,
      ),
      [notUtf8, "the header is no JSON object"],
      [new Uint8Array(3), "it is shorter than 8 bytes"],
      [file.subarray(0, 20), "the header is longer than the file"],
      [file.subarray(0, file.length - 1), 'tensor "x" has shape [4] and the bytes from 0 to 16'],
      [headed("[1]"), "the header is no JSON object"],
      [headed("{"), "the header is no JSON object"],
      [headed('{"x":{"dtype":"F32","shape":[4]}}'), 'tensor "x" has no dtype, no shape or no data_offsets'],
      [headed('{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}}'), "which do not fit"],
      [headed('{"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,16]}}'), "no shape"],
    ] as const;
    for (const [bytes, message] of damaged) {
      const error = thrownBy(() => loadSafetensors(bytes));
      expect(error.message).toContain(message);
      expect([OptionError.is(error), error.code]).toEqual([true, "CORRUPT_DATA"]);
    }
  });

  test("of integers are refused, and so is what holds no bytes", () => {
    for (const [dtype, shape] of [
      ["BOOL", [4]],
      ["F8_E5M2", [4]],
      ["F4", [8]],
      ["F64", [0, 3]],
    ] as const) {
      // oxfmt-ignore
      const bytes = new Uint8Array(shape.includes(0 as never) ? 0 : 4);
      const other = thrownBy(() => loadSafetensors(safetensors({ x: { dtype, shape, bytes } })));
      expect(other.message).toBe(`loadSafetensors: tensor "x" must be F32, F16, BF16, got ${dtype}`);
    }
    const file = safetensors({ ids: { dtype: "I32", shape: [1], bytes: bytesOf(Int32Array.of(1)) } });
    const integers = thrownBy(() => loadSafetensors(file));
    expect(integers.message).toBe('loadSafetensors: tensor "ids" must be F32, F16, BF16, got I32');
    expect(UnsupportedError.is(integers)).toBe(true);
    expect(OptionError.is(thrownBy(() => loadSafetensors(file.buffer as never)))).toBe(true);
  });
});
