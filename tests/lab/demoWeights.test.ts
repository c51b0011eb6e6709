import { expect, test } from "@jest/globals";

import { Weights } from "../../web/demo/model/weights.js";

/** 2, 4, 8, …: powers of two are exact as float16 too. */
const NUMBERS = Array.from({ length: 12 }, (_, n) => 2 ** (n + 1));
const HALF_BITS = Uint16Array.from(NUMBERS, (_, n) => (n + 16) << 10);

/** A model of one scalar and one matrix [4, 3], whose bytes are cut into two files at `cut`. */
function filesOf(stored: "float32" | "float16", cut: number) {
  const scalar = new Uint8Array(stored === "float32" ? 4 : 2);
  const matrix = new Uint8Array(stored === "float32" ? Float32Array.from(NUMBERS).buffer : HALF_BITS.buffer);
  const bytes = Uint8Array.from([...scalar, ...matrix]);
  const kind = { dtype: "float32", ...(stored === "float16" && { quantization: { dtype: "float16" } }) };
  const weights = [
    { name: "scalar", shape: [], ...kind },
    { name: "matrix", shape: [4, 3], ...kind },
  ];
  const graph = { weightsManifest: [{ paths: ["one", "two"], weights }] };
  const files: Record<string, Uint8Array> = {
    "model.json": new TextEncoder().encode(JSON.stringify(graph)),
    one: bytes.slice(0, cut),
    two: bytes.slice(cut),
  };
  return { length: bytes.length, read: (name: string) => Promise.resolve(files[name]!) };
}

test.each(["float32", "float16"] as const)(
  "%s: a matrix and its rows are the same wherever a file ends",
  async (stored) => {
    for (let cut = 1; cut < filesOf(stored, 0).length; ++cut) {
      const weights = await Weights.read(filesOf(stored, cut).read);
      expect([...weights.get("matrix")]).toEqual(NUMBERS);
      expect([...weights.rows("matrix", [3, 0, 3])]).toEqual([
        ...NUMBERS.slice(9),
        ...NUMBERS.slice(0, 3),
        ...NUMBERS.slice(9),
      ]);
    }
  },
);

test("a weight that the model does not have is refused by its name", async () => {
  const weights = await Weights.read(filesOf("float32", 8).read);
  for (const ask of [() => weights.get("other"), () => weights.rows("other", [0])])
    expect(ask).toThrow("model: no weight named other");
});
