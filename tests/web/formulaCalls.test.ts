import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  createAttention,
  HeadwiseError,
  OptionError,
  UnsupportedError,
  type Attention,
  type AttentionOptions,
  type KvCacheOptions,
} from "headwise";
import { formula, type FormulaData } from "headwise/formula";
import { createAttention as createInWorker } from "headwise/worker";

import { bits } from "./close.js";
import { runsOf } from "./depth.js";
import { randomTensor } from "./randomTensor.js";
import { referenceAttention, type ReferenceOptions } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "./resultProblems.js";

const ALL = { probs: true, lse: true, entropy: true, scores: "formula" } as const;

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 2 });
});
afterAll(() => hw.dispose());

const query = randomTensor(1, [2, 4, 6, 8], 2);
const key = randomTensor(2, [2, 2, 9, 8], 2);
const value = randomTensor(3, [2, 2, 9, 8]);

type Options = Omit<AttentionOptions, "location" | "into">;

const compute = (options: Options, on = hw) =>
  on.scaledDotProductAttention(query, key, value, { ...options, location: "cpu" });

async function refusal(call: Promise<unknown>): Promise<HeadwiseError> {
  const error: unknown = await call.then(
    () => new Error("it was computed"),
    (reason: unknown) => reason,
  );
  if (!HeadwiseError.is(error)) throw error;
  return error;
}

const alibi = formula("s - slope[h] * abs(q - k)", { slope: [1, 0.5, 0.25, 0.125] });
const documents = formula("doc[q] == doc[k] && k <= q", { doc: new Int32Array([0, 0, 0, 1, 1, 1, 2, 2, 2]) });

describe("A call refuses, before any work,", () => {
  test.each<[string, unknown, string, string]>([
    ["a text", "s - 1", 'score must be a formula, got "s - 1"', 'formula("s - 1")'],
    ["a function", () => 1, "score must be a formula, got a function", "It is a text"],
    ["null", null, "score must be a formula, got null", "headwise/formula"],
    [
      "a graph alone",
      alibi.graph,
      "score must be a formula, got an object with nodes, result, parameters",
      "headwise/formula",
    ],
    ["a list", [alibi], "score must be a formula, got", "headwise/formula"],
  ])("%s in place of a formula", async (_, score, message, hint) => {
    const error = await refusal(compute({ score: score as FormulaData }));
    expect([error.name, error.message]).toEqual(["OptionError", expect.stringContaining(message)]);
    expect(error.hint).toContain(hint);
  });

  test("a formula of visible that reads the score", async () => {
    const error = await refusal(compute({ visible: formula("s > 0 && k <= q") }));
    expect(error.message).toBe("scaledDotProductAttention: visible must not read s, the score: s > 0 && k <= q");
    expect(error.hint).toContain("-Infinity");
  });

  test('emptyRows "throw" with score, which it allows with visible', async () => {
    const error = await refusal(compute({ score: formula("s"), emptyRows: "throw" }));
    expect(UnsupportedError.is(error)).toBe(true);
    expect(error.message).toBe('scaledDotProductAttention: emptyRows "throw" is not supported with score');
    await compute({ visible: formula("true"), emptyRows: "throw" });
    expect(
      (
        await refusal(
          compute({ visible: formula("k > 8"), queryOffset: 3, emptyRows: "throw" }).then(() =>
            compute({ visible: formula("k > 9"), emptyRows: "throw" }),
          ),
        )
      ).code,
    ).toBe("EMPTY_ROW");
  });

  test("positions that float32 cannot hold", async () => {
    for (const queryOffset of [2 ** 24 - 5, -(2 ** 24)]) {
      const error = await refusal(compute({ visible: formula("k <= q"), queryOffset }));
      expect(UnsupportedError.is(error)).toBe(true);
      expect(error.message).toMatch(
        /visible needs positions below 2²⁴ = 16777216, got queries up to position 16777216/,
      );
    }
    await compute({ visible: formula("k <= q"), queryOffset: 2 ** 24 - 6 });
    await compute({ causal: true, queryOffset: 2 ** 24 });
  });

  const tables = { t: [1, 2, 3, 4, 5], m: [[1, 2], [3, 4]], one: 1, big: 9 }; // oxfmt-ignore
  test.each<[string, Options, string]>([
    ["t[k]", {}, "score reads t[k] with k from 0 to 8, but axis 0 of the table t has the indices 0 to 4"],
    ["t[j] + s", {}, "score reads t[j] with j from 0 to 8, but axis 0 of the table t has the indices 0 to 4"],
    ["t[i]", {}, "score reads t[i] with i from 0 to 5, but axis 0 of the table t has the indices 0 to 4"],
    ["t[q]", { queryOffset: -1, queryLengths: [5, 5] }, "score reads t[q] with q from -1 to 3,"],
    ["t[q]", { causal: true }, "score reads t[q] with q from 3 to 8,"],
    ["t[q]", { causal: true, keyLengths: [9, 6] }, "score reads t[q] with q from 0 to 8,"],
    ["t[h * 2 - 1]", {}, "score reads t[h * 2 - 1] with h * 2 - 1 from -1 to 5,"],
    ["t[floor(k / 2) + one]", {}, "with floor(k * 0.5) + one from 1 to 5,"],
    ["t[min(k, big)]", {}, "with min(k, big) from 0 to 8,"],
    ["t[-h]", {}, "with -h from -3 to 0,"],
    [
      "m[b][g + 1]",
      {},
      "score reads m[b][g + 1] with g + 1 from 1 to 2, but axis 1 of the table m has the indices 0 to 1",
    ],
    ["m[h][g]", {}, "score reads m[h][g] with h from 0 to 3, but axis 0 of the table m has the indices 0 to 1"],
    ["t[D]", {}, "with D from 8 to 8,"],
    ["t[Sq]", {}, "with Sq from 6 to 6,"],
    ["t[5]", {}, "with 5 from 5 to 5,"],
    ["s < 1 ? s : s + exp(t[k] * 2) * (s < t[k])", {}, "never"],
    ["(t[k] < 1 ? 1 : 2) * s", {}, "score reads t[k] with k from 0 to 8,"],
    ["t[k] > 1 && s > 2", {}, "score reads t[k] with k from 0 to 8,"],
    ["s > 2 && t[k] > 1", {}, "never"],
    ["t[k - q]", {}, "never"],
    ["k < 5 ? t[k] : 0", {}, "never"],
    ["t[min(k, 4)]", {}, "never"],
    ["t[k % 5]", {}, "never"],
    ["t[s]", {}, "never"],
    ["t[h]", {}, "never"],
    ["t[floor(k / 2)]", {}, "never"],
    ["t[k]", { keyLengths: [5, 3] }, "never"],
    ["t[i]", { queryLengths: [5, 0] }, "never"],
    ["t[b + 3]", {}, "never"],
    ["t[9 - Skv + h]", {}, "never"],
  ])("an index that is known to be outside of its table: %s, %j: %s", async (text, options, message) => {
    const call = compute({ ...options, score: formula(text, tables) });
    if (message === "never") await call;
    else {
      const error = await refusal(call);
      expect(OptionError.is(error)).toBe(true);
      expect(error.message).toContain(message);
      expect(error.hint).toContain("the element is 0");
    }
  });

  test("the same in ragged batches, whose positions start anew in every sequence", async () => {
    const packed = { query: randomTensor(4, [1, 9, 2, 4]), key: randomTensor(5, [1, 9, 2, 4]) };
    const options = { layout: "BSHD", cuSeqLensQuery: [0, 5, 9], cuSeqLensKey: [0, 5, 9] } as const;
    const call = (text: string) =>
      hw.scaledDotProductAttention(packed.query, packed.key, packed.key, { ...options, score: formula(text, tables) });
    await call("s + t[k] + t[q] + m[b][h]");
    expect((await refusal(call("s + t[Skv]"))).message).toContain("t[Skv] with Skv from 4 to 5,");
    expect((await refusal(call("s + m[b + 1][h]"))).message).toContain("with b + 1 from 1 to 2,");
  });

  test("the same in caches, whose positions grow", async () => {
    using cache = await hw.kvCache({ batchSize: 2, numKvHeads: 2, headDim: 8 });
    const token = (seed: number) => randomTensor(seed, [2, 2, 1, 8]);
    const score = formula("s + t[k] - t[q]", tables);
    for (let step = 0; step < 5; ++step) await cache.step(token(1), token(2), token(3), { score });
    const error = await refusal(cache.step(token(1), token(2), token(3), { score }));
    expect(error.message).toContain("cache.step: score reads t[k] with k from 0 to 5,");
    expect(cache.lengths).toEqual([5, 5]); // nothing was appended
    await cache.append(token(2), token(3));
    expect((await refusal(cache.attend(token(1), { score }))).message).toContain(
      "cache.attend: score reads t[k] with k from 0 to 5,",
    );
  });

  test("the same in layers", async () => {
    const unit = randomTensor(2, [8, 8]);
    using layer = await hw.multiHeadAttention({
      numHeads: 2,
      inputDim: 8,
      weights: { Wq: unit, Wk: unit, Wv: unit, Wo: unit },
    });
    using cache = await layer.kvCache();
    const x = randomTensor(1, [1, 4, 8]);
    const score = formula("s + t[k]", tables);
    await layer.forward(x, { cache, score });
    const error = await refusal(layer.forward(x, { cache, score }));
    expect(error.message).toContain("layer.forward: score reads t[k] with k from 0 to 7,");
    expect(cache.lengths).toEqual([4]);
  });
});

describe("A formula", () => {
  const both = { score: alibi, visible: documents, returns: ALL } as const;

  test("that postMessage has copied gives the same bits", async () => {
    const copies = { score: structuredClone(alibi) as FormulaData, visible: structuredClone(documents) as FormulaData };
    expect(bits(await compute({ ...copies, returns: ALL }))).toEqual(bits(await compute(both)));
  });

  test("gives with other parameters what a new one gives", async () => {
    const slope = [3, 1, 0, 2];
    const replaced = await compute({ ...both, score: alibi.with({ slope }) });
    const made = await compute({ ...both, score: formula(alibi.text, { slope }) });
    expect(bits(replaced)).toEqual(bits(made));
    expect(bits(await compute(both))).not.toEqual(bits(made));
  });

  test("gives the same bits on 1 to 8 threads", async () => {
    const large = { q: randomTensor(7, [1, 3, 70, 16], 2), k: randomTensor(8, [1, 3, 300, 16], 2) };
    const score = formula("cap * tanh(s / cap) - abs(q - k) * 0.01 + sin(k * h)", { cap: 5 });
    const visible = formula("k <= q && (q - k < 90 || k % 7 == 0) && !(k == 40)");
    const options = { score, visible, queryOffset: 230, returns: { ...ALL, topK: 5 } };
    const results: unknown[] = [];
    for (const threads of [1, 2, 3, 8]) {
      const on = await createAttention({ backend: "wasm", threads });
      results.push(bits(await on.scaledDotProductAttention(large.q, large.k, large.k, options)));
      on.dispose();
    }
    for (const result of results.slice(1)) expect(result).toEqual(results[0]);
  });

  test("in hidden pairs changes no bit: NaN in keys, values and in the formula itself", async () => {
    const hidden = [2, 5, 6];
    const poisoned = (tensor: typeof key) => {
      const data = tensor.data.slice();
      const [, heads, length, width] = tensor.shape as [number, number, number, number];
      data.forEach((_, n) => {
        if (hidden.includes(Math.floor(n / width) % length)) data[n] = [NaN, Infinity, -Infinity][n % 3]!;
      });
      expect(heads).toBe(2);
      return { ...tensor, data };
    };
    const flags = { seen: Uint8Array.from({ length: 9 }, (_, k) => Number(!hidden.includes(k))) };
    const poison = { p: Float32Array.from({ length: 9 }, (_, k) => (hidden.includes(k) ? NaN : 0.5)) };
    const returns = { probs: true, lse: true, entropy: true, topK: 4, scores: "formula" } as const;
    for (const hide of [
      { visible: formula("seen[k]", flags), score: formula("s * p[k]", poison) },
      { visible: formula("seen[k] && k <= q + 9", flags), score: formula("s * p[k]", poison) },
      { mask: { data: flags.seen, shape: [1, 1, 1, 9] }, score: formula("s * p[k]", poison) },
      { score: formula("seen[k] ? s * 0.5 : -Infinity", flags) },
      { score: formula("seen[k] ? s * p[k] : -Infinity", { ...flags, ...poison }) },
    ]) {
      const clean = await hw.scaledDotProductAttention(query, key, value, { ...hide, returns });
      const dirty = await hw.scaledDotProductAttention(query, poisoned(key), poisoned(value), { ...hide, returns });
      expect(bits(dirty)).toEqual(bits(clean));
      expect([...clean.output.data].some(Number.isNaN)).toBe(false);
    }
  });

  test("that is NaN or infinite poisons its own row, and no other", async () => {
    for (const bad of ["NaN", "Infinity"]) {
      const options = { score: formula(`i == 2 && k == 3 ? ${bad} : s`), visible: formula("!(i == 4 && k == 3)") };
      const poisoned = await compute({ ...options, returns: { lse: true } });
      const clean = await compute({ visible: options.visible, returns: { lse: true } });
      const rowOf = (data: ArrayLike<number>, n: number) => Array.from({ length: 8 }, (_, d) => data[n * 8 + d]!);
      for (let n = 0; n < 2 * 4 * 6; ++n)
        if (n % 6 === 2) expect(rowOf(poisoned.output.data, n).every(Number.isNaN)).toBe(true);
        else expect(rowOf(poisoned.output.data, n)).toEqual(rowOf(clean.output.data, n));
    }
  });

  test("empties a row as a mask does", async () => {
    for (const emptyRows of ["zero", "nan", "uniform"] as const)
      for (const options of [
        { visible: formula("i != 1") },
        { score: formula("i == 1 ? -Infinity : s") },
        { score: formula("i == 1 || k == q ? -Infinity : s"), visible: formula("k != q") },
      ]) {
        const returns = { ...ALL, topK: 2 };
        const result = await compute({ ...options, emptyRows, returns });
        const reference = referenceAttention(query, key, value, { ...options, emptyRows });
        expect(resultProblems(result, returns, reference)).toEqual({});
      }
  });

  test("works with every other option", async () => {
    const other: Options = {
      scale: 0.3,
      softcap: 4,
      alibiSlopes: [0.1, 0.2, 0, -0.1],
      bias: randomTensor(9, [4, 6, 9]),
      mask: { data: Uint8Array.from({ length: 54 }, (_, n) => Number(n % 5 !== 0)), shape: [6, 9] },
      window: { left: 6 },
      excludeSelf: true,
      keyLengths: [9, 7],
      queryLengths: [6, 5],
      sinks: [0.5, -Infinity, 0, 1],
      headGain: [1, 2, 0, -1],
      causal: true,
    };
    const formulas = { score: formula("s * 0.5 + 0.1 * (k - q) - (h == g)"), visible: formula("k != 3 || b == 1") };
    const options = { ...other, ...formulas };
    const result = await compute({ ...options, returns: ALL });
    expect(resultProblems(result, ALL, referenceAttention(query, key, value, options as ReferenceOptions))).toEqual({});
  });

  test("knows the rows and numbers of ragged sequences", async () => {
    const packed = (seed: number) => randomTensor(seed, [1, 11, 2, 4], 2);
    const options = {
      layout: "BSHD",
      cuSeqLensQuery: [0, 4, 4, 9, 11],
      cuSeqLensKey: [0, 3, 5, 10, 11],
      score: formula("s + 0.1 * q - 0.2 * k + 0.3 * i * j - Sq + 0.5 * Skv * b + weight[b]", { weight: [1, 2, 3, 4] }),
      visible: formula("j < Skv - 1 || b == 3 || i == Sq - 1"),
    } as const;
    const [q, k, v] = [packed(1), packed(2), packed(3)];
    const result = await hw.scaledDotProductAttention(q, k, v, { ...options, returns: ALL });
    expect(resultProblems(result, ALL, referenceAttention(q, k, v, options))).toEqual({});
  });

  test.each<[string, Partial<KvCacheOptions>]>([
    ["a cache", {}],
    ["a cache with blocks", { capacity: 64 }],
    ["a ring", { ring: { keepFirst: 2, window: 9 } }],
  ])("counts positions in %s as the tokens were appended", async (_, kind) => {
    using cache = await hw.kvCache({ batchSize: 2, numKvHeads: 2, headDim: 8, ...kind });
    for (let n = 0; n < 5; ++n) await cache.append(randomTensor(n, [2, 2, 4, 8], 2), randomTensor(n + 9, [2, 2, 4, 8]));
    await cache.append(randomTensor(21, [2, 2, 2, 8], 2), randomTensor(22, [2, 2, 2, 8]), { lengths: [2, 1] });
    const q = randomTensor(30, [2, 4, 3, 8], 2);
    const options = {
      queryOffset: [19, 18],
      score: formula("s - 0.1 * abs(q - k) + 0.01 * j * Skv + 0.2 * b"),
      visible: formula("k <= q && (k % 3 != 1 || q - k < 4)"),
    };
    const content = await cache.read();
    const held = content.positions.shape[1]!;
    const heldPositions = cache.lengths.map((length, b) => [
      ...content.positions.data.subarray(b * held, b * held + length),
    ]);
    const result = await cache.attend(q, { ...options, returns: ALL });
    const reference = referenceAttention(q, content.key, content.value, {
      ...options,
      keyLengths: cache.lengths,
      heldPositions,
    });
    expect(resultProblems(result, ALL, reference)).toEqual({});
  });

  /** A cache whose last append had two tokens in one batch, and one in the other. */
  async function cacheAfterPadding() {
    const cache = await hw.kvCache({ batchSize: 2, numKvHeads: 2, headDim: 8 });
    await cache.append(randomTensor(1, [2, 2, 4, 8], 2), randomTensor(2, [2, 2, 4, 8]));
    await cache.append(randomTensor(3, [2, 2, 2, 8], 2), randomTensor(4, [2, 2, 2, 8]), { lengths: [2, 1] });
    return cache;
  }
  const twoRows = randomTensor(5, [2, 4, 2, 8], 2);

  test.each([
    ["score", { score: formula("s - 0.1 * abs(q - k)") }],
    ["visible", { visible: formula("k <= q") }],
  ])("the rows of an append with lengths stand at its end for a %s that reads q", async (_, options) => {
    using cache = await cacheAfterPadding();
    const stated = await cache.attend(twoRows, { ...options, queryLengths: [2, 1] });
    expect(bits(await cache.attend(twoRows, options))).toEqual(bits(stated));
  });

  test.each([
    ["score", { score: formula("s - 0.1 * k") }],
    ["visible", { visible: formula("k < 4 || h == 1") }],
  ])("the rows of an append with lengths may be other tokens for a %s that does not read q", async (_, options) => {
    using cache = await cacheAfterPadding();
    const all = await cache.attend(twoRows, { ...options, queryLengths: [2, 2] });
    expect(bits(await cache.attend(twoRows, options))).toEqual(bits(all));
    expect(bits(await cache.attend(twoRows, { ...options, queryLengths: [2, 1] }))).not.toEqual(bits(all));
  });

  test("changes the attention inside of a layer, with a cache too", async () => {
    const unit = (seed: number) => randomTensor(seed, [8, 8], 0.5);
    const weights = { Wq: unit(1), Wk: unit(2), Wv: unit(3), Wo: unit(4) };
    using layer = await hw.multiHeadAttention({ numHeads: 2, inputDim: 8, weights });
    const x = randomTensor(5, [1, 7, 8]);
    const expected = await layer.forward(x, { causal: true, alibiSlopes: [0.5, 0.25] });
    const formulas = { visible: formula("k <= q"), score: formula("s - slope[h] * (q - k)", { slope: [0.5, 0.25] }) };
    const close = (a: ArrayLike<number>, b: ArrayLike<number>) =>
      Array.from(a).every((x, n) => Math.abs(x - b[n]!) < 1e-5 * (1 + Math.abs(x)));
    const given = await layer.forward(x, { ...formulas });
    expect(close(given.output.data, expected.output.data)).toBe(true);
    using cache = await layer.kvCache();
    const part = (from: number, to: number) => ({ data: x.data.slice(from * 8, to * 8), shape: [1, to - from, 8] });
    const first = await layer.forward(part(0, 3), { ...formulas, cache });
    const second = await layer.forward(part(3, 7), { ...formulas, cache });
    expect(close([...first.output.data, ...second.output.data], expected.output.data)).toBe(true);
  });

  test("gives the same bits in a worker, and its errors come back with their types", async () => {
    const worker = await createInWorker({ backend: "wasm", threads: 2 });
    try {
      expect(bits(await compute(both, worker))).toEqual(bits(await compute(both)));
      const other = { ...both, score: alibi.with({ slope: [1, 1, 1, 1] }) };
      expect(bits(await compute(other, worker))).toEqual(bits(await compute(other)));
      const error = await refusal(compute({ visible: formula("k > 8 && i < 0"), emptyRows: "throw" }, worker));
      expect([error.name, error.code]).toEqual(["EmptyRowError", "EMPTY_ROW"]);
      using cache = await worker.kvCache({ batchSize: 2, numKvHeads: 2, headDim: 8 });
      await cache.append(key, value);
      const here = (await compute({ score: alibi, queryOffset: 3, returns: { lse: true } })).lse!;
      const there = await cache.attend(query, { score: alibi, returns: { lse: true } });
      expect(Math.max(...there.lse.data.map((x, n) => Math.abs(x - here.data[n]!)))).toBeLessThan(1e-5);
    } finally {
      worker.dispose();
    }
  });
});

describe("A forged formula", () => {
  const plain = structuredClone(formula("k <= q && t[k] > a ? s - m[h][g] * 2 : -Infinity", { t: [1, 2], a: 1, m: [[1]] })); // oxfmt-ignore

  /** A copy with one value replaced: that at the end of a path. */
  function changed(path: readonly (string | number)[], value: unknown): FormulaData {
    const copy = structuredClone(plain) as unknown;
    let holder = copy as Record<string, unknown>;
    for (const step of path.slice(0, -1)) holder = holder[step] as Record<string, unknown>;
    holder[path.at(-1)!] = value;
    return copy as FormulaData;
  }

  test.each<[string, (string | number)[], unknown, string]>([
    ["no text", ["text"], 5, "must be a formula"],
    ["a long text", ["text"], "s".repeat(5000), "its text is longer than 4096 characters"],
    ["no graph", ["graph"], undefined, "must be a formula"],
    ["an unknown operation", ["graph", "nodes", 0, "op"], "eval", 'it has no operation "eval"'],
    ["an operation of Object", ["graph", "nodes", 0, "op"], "constructor", 'it has no operation "constructor"'],
    ["an operand after it", ["graph", "nodes", 2, "of", 0], 9, "is no operation before it"],
    ["an operand before the first", ["graph", "nodes", 2, "of", 0], -1, "is no operation before it"],
    ["a fraction as an operand", ["graph", "nodes", 2, "of", 0], 0.5, "is no operation before it"],
    ["too few operands", ["graph", "nodes", 2, "of"], [0], "must have 2 operands"],
    ["an unknown variable", ["graph", "nodes", 0, "variable"], "x", 'it has no variable "x"'],
    ["a result outside", ["graph", "result"], 99, "its result is no operation"],
    ["no result", ["graph", "result"], undefined, "its result is no operation"],
    [
      "too many nodes",
      ["graph", "nodes"],
      Array(257).fill({ op: "variable", of: [], variable: "s" }),
      "at most 256 operations",
    ],
    ["no nodes", ["graph", "nodes"], [], "its result is no operation"],
    ["a slot outside", ["graph", "nodes", 3, "slot"], 7, "must have the place of a parameter"],
    ["a slot of another rank", ["graph", "nodes", 3, "slot"], 1, "must have the place of a parameter"],
    ["a parameter without a rank", ["graph", "parameters", 0, "rank"], 3, "a parameter has no name or no rank"],
    ["two parameters of one name", ["graph", "parameters", 0, "name"], "a", "two parameters have one name"],
    ["a value too few", ["values"], [], "it has 0 values, not 3"],
    ["a number for a table", ["values", 0], 5, "the value of t is no table"],
    ["a table for a number", ["values", 1], { data: new Float32Array(1), extents: [1] }, "the value of a is no number"],
    ["extents of another size", ["values", 0, "extents"], [3], "must be the product of shape [3]"],
    ["extents of another rank", ["values", 0, "extents"], [2, 1], "the table t has extents [2, 1]"],
    ["a table of doubles", ["values", 0, "data"], new Float64Array(2), "must be a Float32Array"],
    ["fractions in a whole table", ["graph", "parameters", 0, "integer"], "yes", "a parameter has no name or no rank"],
  ])("with %s is refused", async (_, path, value, message) => {
    const error = await refusal(compute({ score: changed(path, value) }));
    expect([error.name === "OptionError" || error.name === "ShapeError", error.message]).toEqual([
      true,
      expect.stringContaining(message),
    ]);
  });

  test("whose condition is a number is refused", async () => {
    const score = {
      text: "s",
      values: [],
      graph: {
        nodes: [{ op: "variable", of: [], variable: "s" } as const, { op: "not", of: [0] } as const],
        result: 1,
        parameters: [],
      },
    };
    expect((await refusal(compute({ score }))).message).toContain("an operand of not must be a comparison");
  });

  test("whose table has lost its memory is refused", async () => {
    const clone = structuredClone(alibi) as FormulaData;
    const table = clone.values[0] as { data: Float32Array<ArrayBuffer> };
    structuredClone(table.data.buffer, { transfer: [table.data.buffer] });
    expect((await refusal(compute({ score: clone }))).code).toBe("DETACHED_INPUT");
  });

  test("that grows without end when it is written out is computed at once", async () => {
    // every node uses the one before twice: as a text it would have 2^200 operations
    const nodes: FormulaData["graph"]["nodes"][number][] = [{ op: "variable", of: [], variable: "k" }];
    for (let n = 0; n < 100; ++n) nodes.push({ op: "minimum", of: [n, n] });
    nodes.push({ op: "less", of: [0, 100] });
    for (let n = 101; n < 200; ++n) nodes.push({ op: "and", of: [n, n] });
    nodes.push({ op: "select", of: [200, 200, 200] });
    for (const option of ["score", "visible"])
      await compute({ [option]: { text: "forged", graph: { nodes, result: 201, parameters: [] }, values: [] } });
  });

  test("with any value anywhere gives a typed error or a result", async () => {
    const paths: (string | number)[][] = [];
    const visit = (value: unknown, path: readonly (string | number)[]) => {
      if (path.length > 0) paths.push([...path]);
      if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value))
        for (const name of Object.keys(value)) visit((value as Record<string, unknown>)[name], [...path, name]);
    };
    visit(plain, []);
    const junk = fc.oneof(
      fc.constantFrom<unknown>(
        undefined,
        null,
        true,
        "",
        "s",
        NaN,
        -1,
        0,
        1,
        2,
        3,
        0.5,
        2 ** 31,
        2 ** 53,
        Infinity,
        [],
        {},
        [0],
        [0, 1],
        5n,
      ),
      fc.constantFrom("select", "table1", "and", "number", "parameter", "power"),
      fc.constant(new Float32Array([1, 2])),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        junk,
        fc.constantFrom("score", "visible"),
        async (path, value, option) => {
          try {
            await compute({ [option]: changed(path, value) });
          } catch (error) {
            if (!HeadwiseError.is(error) || error.code === "INTERNAL") throw error;
          }
        },
      ),
      { numRuns: runsOf(3000), seed: 16 },
    );
    await compute({ score: alibi });
  });
});
