import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "@jest/globals";

import { bytesTouched, CASES, isChosen, operations, seesOf, visibleRanges } from "./harness/cases.mjs";
import { makeProblem } from "./harness/problem.mjs";
import { checkRows, referenceOf, sampleRows } from "./harness/reference.mjs";
import { graphsOf } from "./peers/onnx.mjs";
import { openHeadwise } from "./peers/headwise.mjs";

const named = (name) => CASES.find((shape) => shape.name === name);

/** Every pair that a sequence sees, one by one. */
function seenPairs(shape, batch = 0) {
  const pairs = [];
  for (let i = 0; i < shape.queries; i++)
    for (const [first, last] of visibleRanges(shape, batch, i))
      for (let j = first; j <= last; j++) if (seesOf(shape)?.(batch, i, j) ?? true) pairs.push([i, j]);
  return pairs;
}

test("every case has a name of its own, which fits its column", () => {
  const names = CASES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => name.length > 34)).toEqual([]);
});

test("--quick has cases of every kind of call", () => {
  const groups = CASES.filter((shape) => isChosen(shape, { filter: "", quick: true })).map(({ group }) => group);
  expect(groups).toHaveLength(28);
  expect(new Set(groups)).toEqual(
    new Set([
      ...["dense", "causal", "decode", "decode int8", "decode groups", "decode widths", "decode rows"],
      ...["prefill on a cache", "masks", "formulas", "layer", "layer with positions", "layer of one token"],
      ...["linear", "linear int8", "gradients", "small calls"],
    ]),
  );
});

test("small calls are measured on this thread and in a worker, and the filter small chooses all of them", () => {
  const chosen = CASES.filter((shape) => isChosen(shape, { filter: "small" }));
  expect(chosen.map(({ name }) => name)).toEqual(CASES.filter(({ small }) => small).map(({ name }) => name));
  const here = chosen.filter(({ inWorker }) => !inWorker).map(({ name }) => name);
  expect(here).toHaveLength(4);
  expect(chosen.filter(({ inWorker }) => inWorker).map(({ name }) => name)).toEqual(
    here.map((name) => `${name}, worker`),
  );
});

test("a filter and --quick choose what both choose", () => {
  const chosen = CASES.filter((shape) => isChosen(shape, { filter: "bert", quick: true }));
  expect(chosen.map(({ name }) => name)).toEqual(["BERT 12×128×64", "BERT 12×512×64"]);
});

describe("the work of a case", () => {
  test("is 4 operations for each visible pair, head and feature", () => {
    expect(operations(named("BERT 12×128×64"))).toBe(12 * 128 * 128 * 64 * 4);
    expect(operations(named("decode 32/8×8192×128 float32"))).toBe(32 * 8192 * 128 * 4);
    const holes = named("half holes 12×512×64");
    expect(operations(holes)).toBe(12 * seenPairs(holes).length * 64 * 4);
  });

  test("does not count what a mask hides", () => {
    const [padding, documents] = [named("padding batch 8, 12×512×64"), named("two documents 12×1024×64")];
    expect(operations(padding)).toBe(12 * 512 * (512 + 37 + 300 + 128 + 64 + 451 + 200 + 90) * 64 * 4);
    expect(operations(documents)).toBe((12 * 1024 * 1024 * 64 * 4) / 2);
    expect(seenPairs(named("half holes 12×512×64")).length / 512 ** 2).toBeCloseTo(0.5, 2);
    expect(operations(named("formula documents 12×2048×64"))).toBe((12 * 2048 * 2048 * 64 * 4) / 16);
  });

  test("of several rows on a cache ends for each at its own key", () => {
    expect(operations(named("4 rows 32/8×8192×128"))).toBe(32 * (8189 + 8190 + 8191 + 8192) * 128 * 4);
  });

  test("of a ring is its first tokens and its window", () => {
    const ring = named("ring 2048 of cache 16/4×512×64");
    expect(visibleRanges(ring, 0, 0)).toEqual([
      [0, 3],
      [6001 - 2044, 6000],
    ]);
    expect(visibleRanges(ring, 0, 511)).toEqual([
      [0, 3],
      [6001 - 2044, 6000],
    ]);
    expect(bytesTouched(ring)).toBe(4 * (2 * 16 * 512 * 64 + 2 * 4 * 2048 * 64));
  });

  test("of a windowed prefill on a cache reads only the keys that some row sees", () => {
    const window = named("window 1024 of cache 16/4×512×64");
    expect(visibleRanges(window, 0, 0)).toEqual([[8192 - 512 - 1023, 8192 - 512]]);
    expect(bytesTouched(window)).toBe(4 * (2 * 16 * 512 * 64 + 2 * 4 * (512 + 1023) * 64));
  });

  test("of a linear map is its weight, in the bytes of its dtype", () => {
    const [full, small] = [named("linear 768→2304 float32"), named("linear 768→2304 int8")];
    expect(operations(full)).toBe(2 * 768 * 2304);
    expect(bytesTouched(full)).toBe(4 * (768 * 2304 + 768 + 2304));
    expect(bytesTouched(small)).toBe(768 * 2304 + 4 * (768 + 2 * 2304));
  });

  test("of a layer is its attention and its four products", () => {
    const layer = named("layer 2048→32/8×64, 1 of 4096");
    const weights = 2 * 2048 * 2048 + 2 * 2048 * 512;
    expect(operations(layer)).toBe(2 * weights + 32 * 4096 * 64 * 4);
    expect(bytesTouched(layer)).toBe(4 * (weights + 2 * 2048 + 2 * 8 * 4095 * 64));
  });
});

test("windows on caches begin at an odd key", () => {
  const firstKeys = CASES.filter(({ group }) => group === "prefill on a cache").map(
    (shape) => visibleRanges(shape, 0, 0).at(-1)[0],
  );
  expect(firstKeys.map((key) => key % 2)).toEqual([1, 1]);
});

/** Cases of every kind, so small that a test may compute them. */
const SMALL = Object.fromEntries(
  [
    ["BERT 12×512×64", { heads: 2, kvHeads: 2, queries: 9, keys: 9 }],
    ["causal 32/8×2048×128", { heads: 4, kvHeads: 2, queries: 9, keys: 9 }],
    ["window 256 of 8×8192×64", { heads: 2, kvHeads: 2, queries: 19, keys: 19, left: 5 }],
    ["decode 56/8×8192×128 float32", { heads: 7, kvHeads: 1, keys: 41 }],
    ["decode 32/8×2048×128 float16", { heads: 4, kvHeads: 1, keys: 41 }],
    ["decode 32/8×2048×128 int8", { heads: 4, kvHeads: 1, keys: 41 }],
    ["4 rows 32/8×8192×128", { heads: 4, kvHeads: 1, keys: 41 }],
    ["window 1024 of cache 16/4×512×64", { heads: 4, kvHeads: 1, queries: 12, keys: 41, left: 16 }],
    [
      "ring 2048 of cache 16/4×512×64",
      { heads: 4, kvHeads: 1, queries: 12, keys: 61, ring: { keepFirst: 2, window: 24 } },
    ],
    ["ragged batch 8, 12 heads×64", { heads: 2, kvHeads: 2, batch: 3, queries: 9, keys: 9, lengths: [9, 2, 5] }],
    ["padding batch 8, 12×512×64", { heads: 2, kvHeads: 2, batch: 3, queries: 9, keys: 9, keyLengths: [9, 2, 5] }],
    ["half holes 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["two documents 12×1024×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["ALiBi causal 12×1024×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["softcap 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["formula 4 operations 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["formula softcap 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["formula table 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["formula causal 12×1024×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["formula documents 12×2048×64", { heads: 2, kvHeads: 2, queries: 140, keys: 140 }],
    ["layer 768→12×64→768 at 512", { heads: 2, kvHeads: 2, queries: 9, keys: 9 }],
    ["layer 768 at 512, sinusoidal", { heads: 2, kvHeads: 2, queries: 9, keys: 9 }],
    ["layer 768 at 512, learned", { heads: 2, kvHeads: 2, queries: 9, keys: 9 }],
    ["layer 768 at 512, rotary", { heads: 2, kvHeads: 2, queries: 9, keys: 9 }],
    ["layer 768→12×64, 1 token", { heads: 2, kvHeads: 2 }],
    ["layer 2048→32/8×64, 1 of 4096", { heads: 4, kvHeads: 1, keys: 17 }],
    ...["float32", "float16", "int8"].flatMap((dtype) => [
      [`linear 768→2304 ${dtype}`, { linear: { inputs: 19, outputs: 8, dtype, layout: "in-out" } }],
      [`linear 768→50257 ${dtype}`, { linear: { inputs: 40, outputs: 8, dtype, layout: "out-in" } }],
    ]),
    ["gradient 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["gradient causal 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ["with gradient causal 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12, batch: 2 }],
    ["top 8 of 12×512×64", { heads: 2, kvHeads: 2, queries: 12, keys: 12 }],
    ...["", ", worker"].flatMap((where) => [
      [`small attention 8×1×1×8${where}`, { queries: 3, keys: 5 }], // the weight of a single key is always 1
      [`small linear 64→64${where}`, {}],
      [`small step, rewind 8×1×8${where}`, { queries: 3, keys: 3 }],
      [`small layer 64→8×8${where}`, {}],
    ]),
  ].map(([name, sizes]) => [name, { ...named(name), dim: 8, ...sizes }]),
);

const root = new URL("../../", import.meta.url);
const environment = {
  ...{ variant: "simd", threads: 1, isNode: true },
  locate: (path) => new URL(path, root).href,
  read: async (url) => new Uint8Array(await readFile(fileURLToPath(url))),
};

describe.each(Object.entries(SMALL))("a small %s", (name, shape) => {
  const problem = makeProblem(shape);
  const expectedRow = referenceOf(problem);
  const rows = sampleRows(shape).map((row) => ({ row, expected: expectedRow(row) }));

  test("is computed right, also inside the engine, where it repeats", async () => {
    const { prepare } = await openHeadwise(environment);
    const own = await prepare(problem);
    try {
      await own.call();
      checkRows(rows, own.row, false);
      const inside = await own.inside();
      await inside.call();
      checkRows(rows, inside.row, false);
      inside.release();
    } finally {
      own.release();
    }
  });

  test("fails if a number is wrong", () => {
    const found = (error) => () => {
      const read = (row) => expectedRow(row).values.map((value, d) => (d === 3 ? value + error : value));
      checkRows(rows, read, false);
    };
    expect(found(0)).not.toThrow();
    expect(found(shape.cache === "int8" ? 0.2 : 1e-3)).toThrow("wrong result");
  });
});

test("a layer with a cache still sees the keys of its case after it has been timed", async () => {
  const { prepare } = await openHeadwise(environment);
  const shape = SMALL["layer 2048→32/8×64, 1 of 4096"];
  const problem = makeProblem(shape);
  const rows = sampleRows(shape).map((row) => ({ row, expected: referenceOf(problem)(row) }));
  const own = await prepare(problem);
  try {
    for (let n = 0; n < 100; n++) await own.call();
    const inside = await own.inside();
    await inside.call();
    expect(() => checkRows(rows, inside.row, false)).not.toThrow();
  } finally {
    own.release();
  }
});

test("a small step leaves its cache empty, so that every call computes the same", async () => {
  const { prepare } = await openHeadwise(environment);
  const shape = SMALL["small step, rewind 8×1×8"];
  const problem = makeProblem(shape);
  const rows = sampleRows(shape).map((row) => ({ row, expected: referenceOf(problem)(row) }));
  const own = await prepare(problem);
  try {
    for (let n = 0; n < 20; n++) await own.call(); // the cache has room for one
    expect(() => checkRows(rows, own.row, false)).not.toThrow();
  } finally {
    own.release();
  }
});

test.each(["gradient 12×512×64", "gradient causal 12×512×64"])("the reference of a small %s is the slope", (name) => {
  const problem = makeProblem(SMALL[name]);
  const { dim, heads, queries } = problem.shape;
  const [row, step] = [{ b: 0, h: 1, i: 7 }, 1e-4];
  const lossOf = (changed) => {
    const forward = referenceOf({ ...problem, ...changed, shape: { ...problem.shape, gradient: undefined } });
    let loss = 0;
    for (let h = 0; h < heads; h++)
      for (let i = 0; i < queries; i++)
        for (const [d, o] of forward({ b: 0, h, i }).values.entries())
          loss += o * problem.dOutput[(h * queries + i) * dim + d];
    return loss;
  };
  const moved = (tensor, d, by) => {
    const data = Float64Array.from(problem[tensor]);
    data[(row.h * queries + row.i) * dim + d] += by;
    return { [tensor]: data };
  };
  const { values } = referenceOf(problem)(row);
  for (const [part, tensor] of ["query", "key", "value"].entries())
    for (let d = 0; d < dim; d++) {
      const slope = (lossOf(moved(tensor, d, step)) - lossOf(moved(tensor, d, -step))) / (2 * step);
      expect(Math.abs(values[part * dim + d] - slope)).toBeLessThan(1e-6); // step² and double precision ÷ step
    }
});

test("ONNX Runtime has a graph for every case, except linear maps, steps with rewind, softcap, formulas, gradients, other caches than float32 and rings", () => {
  const without = CASES.filter((shape) => {
    try {
      return graphsOf(shape).length === 0;
    } catch {
      return true;
    }
  });
  expect(new Set(without.map(({ group }) => group))).toEqual(
    new Set([
      "decode float16",
      "decode int8",
      "prefill on a cache",
      "formulas",
      "gradients",
      "linear",
      "linear float16",
      "linear int8",
      "small calls",
    ]),
  );
  expect(without.filter(({ ring, cache, step }) => !ring && !step && cache === "float32")).toEqual([]);
});
