import { describe, expect, test } from "@jest/globals";

import { readNpy, writeNpy } from "../../web/demo/lab/rooms/tensors/files/npy.js";
import { openFile } from "../../web/demo/lab/rooms/tensors/files/open.js";
import { openSafetensors } from "../../web/demo/lab/rooms/tensors/files/safetensors.js";
import { assign, LAYER_ROLES } from "../../web/demo/lab/rooms/tensors/roles.js";
import { safetensors } from "../web/safetensorsFile.js";

/** A .npy file as NumPy writes it, with any header. */
function npy(header: string, data: Uint8Array): Uint8Array {
  const text = header.padEnd(117) + "\n";
  const length = [text.length & 255, text.length >> 8];
  return Uint8Array.from([0x93, ...Buffer.from("NUMPY"), 1, 0, ...length, ...Buffer.from(text), ...data]);
}
const bytesOf = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

describe(".npy", () => {
  test("what is written is read again", () => {
    const data = Float32Array.from([1, -2.5, 3e-8, Infinity, NaN, 6]);
    const file = writeNpy([2, 3], data);
    const read = readNpy(file, "a");
    expect(read.shape).toEqual([2, 3]);
    expect(read.data).toEqual(data);
    expect((file.length - data.byteLength) % 64).toBe(0);
  });

  test("column-major arrays are turned", () => {
    const header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }";
    const { data, shape } = readNpy(npy(header, bytesOf(Float64Array.from([1, 4, 2, 5, 3, 6]))), "a");
    expect([...data]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(shape).toEqual([2, 3]);
  });

  test.each([
    ["<f2", Uint16Array.from([0x3c00, 0xc100, 0x0001, 0x7c00]), [1, -2.5, 2 ** -24, Infinity]],
    ["<i8", BigInt64Array.from([5n, -7n, 0n, 1n]), [5, -7, 0, 1]],
    ["|b1", Uint8Array.from([1, 0, 0, 1]), [1, 0, 0, 1]],
    ["|u1", Uint8Array.from([255, 0, 1, 2]), [255, 0, 1, 2]],
  ])("%s becomes float32", (type, data, numbers) => {
    const header = `{'descr': '${type}', 'fortran_order': False, 'shape': (4,), }`;
    expect([...readNpy(npy(header, bytesOf(data)), "a").data]).toEqual(numbers);
  });

  test.each([
    ["big-endian", "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4, /big-endian/],
    ["complex", "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, /c8/],
    ["cut short", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 8, /8 bytes/],
  ])("%s files are refused in words", (_, header, length, words) => {
    expect(() => readNpy(npy(header, new Uint8Array(length)), "a")).toThrow(words);
  });

  test("a header may be long", () => {
    const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }${" ".repeat(1_000_000)}\n`;
    const length = bytesOf(Uint32Array.of(text.length));
    const parts = [Uint8Array.of(0x93), Buffer.from("NUMPY"), Uint8Array.of(2, 0), length, Buffer.from(text)];
    const file = Buffer.concat([...parts, bytesOf(Float32Array.of(2.5))]);
    expect([...readNpy(file, "a").data]).toEqual([2.5]);
  });

  test.each(["constructor", "toString"])("no type is called %s", (type) => {
    const header = `{'descr': '${type}', 'fortran_order': False, 'shape': (1,), }`;
    expect(() => readNpy(npy(header, new Uint8Array(4)), "a")).toThrow(`holds ${type} that this page does not read`);
    const [entry] = openSafetensors(safetensors({ a: { dtype: type, shape: [1], bytes: new Uint8Array(4) } }));
    expect(() => entry!.read()).toThrow(`holds “a” as ${type}`);
  });

  test("other files are refused", async () => {
    expect(() => readNpy(Uint8Array.of(1, 2, 3), "a")).toThrow(/does not begin/);
    await expect(openFile(new File(["x"], "x.txt"))).rejects.toThrow("x.txt is neither .npy nor .safetensors");
  });
});

describe(".safetensors", () => {
  test("tensors come by name, in their type", () => {
    const file = safetensors({
      a: { dtype: "F32", shape: [2], bytes: bytesOf(Float32Array.of(1.5, -2)) },
      b: { dtype: "BF16", shape: [1, 2], bytes: bytesOf(Uint16Array.of(0x3f80, 0xc040)) },
    });
    const entries = openSafetensors(file);
    expect(entries.map(({ name, shape, stored }) => [name, shape, stored])).toEqual([
      ["a", [2], "F32"],
      ["b", [1, 2], "BF16"],
    ]);
    expect([...entries[0]!.read().data]).toEqual([1.5, -2]);
    expect([...entries[1]!.read().data]).toEqual([1, -3]);
  });

  test("a type that is not read is refused when its tensor is, not before", () => {
    const file = safetensors({ a: { dtype: "F8_E4M3", shape: [1], bytes: Uint8Array.of(0) } });
    const [entry] = openSafetensors(file);
    expect(() => entry!.read()).toThrow(/F8_E4M3/);
  });

  test.each([
    ["too short", Uint8Array.of(1, 2)],
    ["cut short", Uint8Array.from([200, 0, 0, 0, 0, 0, 0, 0, 123])],
    ["no JSON", Uint8Array.from([2, 0, 0, 0, 0, 0, 0, 0, 65, 65])],
  ])("a file that is %s is refused", (_, file) => {
    expect(() => openSafetensors(file)).toThrow(/is no .safetensors/);
  });
});

test("the names of known models find their places", () => {
  const names = (list: readonly string[]) =>
    list.map((name) => ({ name, shape: [1], stored: "F32", read: () => never() }));
  const never = () => {
    throw new Error("nothing is read for its name");
  };
  const found = (list: readonly string[]) =>
    Object.fromEntries([...assign(LAYER_ROLES, names(list), new Map())].map(([id, { name }]) => [id, name]));
  expect(
    found([
      "h.self_attn.q_proj.weight",
      "h.self_attn.k_proj.weight",
      "h.self_attn.v_proj.weight",
      "h.self_attn.o_proj.weight",
    ]),
  ).toEqual({
    Wq: "h.self_attn.q_proj.weight",
    Wk: "h.self_attn.k_proj.weight",
    Wv: "h.self_attn.v_proj.weight",
    Wo: "h.self_attn.o_proj.weight",
  });
  const bert = ["query", "key", "value"].flatMap((part) => [
    `attention.self.${part}.weight`,
    `attention.self.${part}.bias`,
  ]);
  expect(found([...bert, "attention.output.dense.weight", "attention.output.dense.bias"])).toEqual({
    Wq: "attention.self.query.weight",
    Wk: "attention.self.key.weight",
    Wv: "attention.self.value.weight",
    Wo: "attention.output.dense.weight",
    bq: "attention.self.query.bias",
    bk: "attention.self.key.bias",
    bv: "attention.self.value.bias",
    bo: "attention.output.dense.bias",
  });
});
