// Formulas in caches, rings, ragged batches, layers and recorded calls on WebGPU, with poison, and what they compile.
// Almost all calls use the same two formulas, because compiling takes most of the time.

import { expect, test } from "@jest/globals";
import type { Attention, AttentionOptions } from "headwise";
import { formula } from "headwise/formula";

import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { CountedGpu } from "./countedGpu.js";
import { describeOnGpu, onSharedDevice } from "./gpu.js";

const DOCUMENTS = Int32Array.from({ length: 256 }, (_, n) => Math.floor(n / 11));
const BONUS = Float32Array.from({ length: 256 }, (_, n) => (n % 7 === 3 ? -Infinity : Math.sin(n)));

/** Documents and a causal window, and a score that also hides. */
const visible = formula("(doc[q] == doc[k] || k < 3) && k <= q && q - k < w", { doc: DOCUMENTS, w: 20 });
const score = formula("h == 0 ? s + bonus[k] : s * 2 - b", { bonus: BONUS });

/** What head 0 sees by both. */
const isVisible = (q: number, k: number) =>
  (DOCUMENTS[q] === DOCUMENTS[k] || k < 3) && k <= q && q - k < 20 && BONUS[k] !== -Infinity;

const H = 2;
const D = 16;
const tensorOf = (seed: number, length: number, heads = H) => randomTensor(seed, [1, heads, length, D]);
const floats = (result: object) => [...float32Of(result as Parameters<typeof float32Of>[0])];

/** The exact output of head 0: row i at position i + offset sees keys at these positions. */
function outputOfHead0(
  query: Float32Array,
  key: Float32Array,
  value: Float32Array,
  offset: number,
  positions: readonly number[],
): number[] {
  const rows = query.length / D;
  return Array.from({ length: rows }, (_, i) => {
    const q = i + offset;
    const scores = positions.map((k, j) => {
      let dot = 0;
      for (let d = 0; d < D; ++d) dot += query[i * D + d]! * key[j * D + d]!;
      return isVisible(q, k) ? dot / Math.sqrt(D) + BONUS[k]! : -Infinity;
    });
    const most = Math.max(...scores);
    const weights = scores.map((s) => (s === -Infinity ? 0 : Math.exp(s - most)));
    const sum = weights.reduce((a, b) => a + b, 0);
    return Array.from({ length: D }, (_, d) => weights.reduce((all, p, j) => all + p * value[j * D + d]!, 0) / sum);
  }).flat();
}

const head0 = ({ data, shape }: { data: Float32Array; shape: readonly number[] }) => data.subarray(0, shape[2]! * D);

function expectClose(found: readonly number[], wanted: readonly number[], tolerance: number) {
  expect(found.length).toBe(wanted.length);
  const most = Math.max(...found.map((x, n) => Math.abs(x - wanted[n]!)).map((x) => (Number.isNaN(x) ? Infinity : x)));
  expect(most).toBeLessThan(tolerance);
}

describeOnGpu("formulas in every place of WebGPU", () => {
  let hw: Attention;
  onSharedDevice((_, made) => {
    hw = made;
  });

  const [query, key, value] = [tensorOf(1, 2), tensorOf(2, 60), tensorOf(3, 60)];
  const options = { score, visible, queryOffset: 50 };
  const run = (more: Partial<AttentionOptions> = {}) =>
    hw.scaledDotProductAttention(query, key, value, { ...options, ...more });

  test("score and visible together compute what they mean", async () => {
    const { output } = await run();
    const positions = Array.from({ length: 60 }, (_, n) => n);
    const wanted = outputOfHead0(head0(query), head0(key), head0(value), 50, positions);
    expectClose(floats(output).slice(0, 2 * D), wanted, 1e-5);
  });

  test("a pipeline is compiled once for a formula, not for its parameters", async () => {
    await run();
    const counted = new CountedGpu();
    const pipelines = async (work: () => Promise<unknown>) => (await counted.count(work)).createComputePipelineAsync;
    try {
      const other = Float32Array.from({ length: 300 }, (_, n) => n / 100);
      expect(await pipelines(() => run({ score: score.with({ bonus: other }) }))).toBe(0);
      expect(await pipelines(() => run({ visible: visible.with({ w: 3, doc: new Int32Array(100) }) }))).toBe(0);
      expect(await pipelines(() => run(structuredClone({ score, visible })))).toBe(0);
      const plain = () => hw.scaledDotProductAttention(query, key, value, { queryOffset: 50 });
      expect(await pipelines(plain)).toBe(1);
      expect(await pipelines(plain)).toBe(0);
    } finally {
      counted.restore();
    }
  });

  test("NaN in keys and values that formulas hide changes no bit, and in visible ones it poisons their rows", async () => {
    const clean = await run();
    const poison = (tensor: typeof key, is: (j: number) => boolean) => ({
      ...tensor,
      data: tensor.data.map((x, n) => (is(Math.floor(n / D) % 60) ? NaN : x)),
    });
    const anyRow = [50, 51].map((q) => (j: number) => isVisible(q, j));
    // head 1 has no -Infinity: only `visible` hides there
    const hidden = (j: number) => !(j <= 51 && 50 - j < 20 && (DOCUMENTS[50] === DOCUMENTS[j] || DOCUMENTS[51] === DOCUMENTS[j] || j < 3)); // oxfmt-ignore
    expect(anyRow.some((sees) => [...Array(60).keys()].some((j) => hidden(j) && sees(j)))).toBe(false);
    const spoiled = await hw.scaledDotProductAttention(query, poison(key, hidden), poison(value, hidden), options);
    expect(floats(spoiled.output)).toEqual(floats(clean.output));
    const seen = await hw.scaledDotProductAttention(
      query,
      key,
      poison(value, (j) => j === 46),
      options,
    );
    expect(floats(seen.output).every(Number.isNaN)).toBe(true);
    // bonus[45] is -Infinity, so head 0 does not see key 45; head 1 does
    const byScore = await hw.scaledDotProductAttention(
      query,
      key,
      poison(value, (j) => j === 45),
      options,
    );
    expect(floats(byScore.output).slice(0, 2 * D)).toEqual(floats(clean.output).slice(0, 2 * D));
    expect(
      floats(byScore.output)
        .slice(2 * D)
        .every(Number.isNaN),
    ).toBe(true);
  });

  test("a NaN score poisons its row only where the key is visible", async () => {
    const bonus = BONUS.map((x, n) => (n === 46 || n === 59 ? NaN : x)); // key 59 is after all queries
    const hiddenAlone = await run({ score: score.with({ bonus: BONUS.map((x, n) => (n === 59 ? NaN : x)) }) });
    expect(floats(hiddenAlone.output)).toEqual(floats((await run()).output));
    const { output } = await run({ score: score.with({ bonus }) });
    expect(
      floats(output)
        .slice(0, 2 * D)
        .every(Number.isNaN),
    ).toBe(true);
    expect(
      floats(output)
        .slice(2 * D)
        .some(Number.isNaN),
    ).toBe(false);
  });

  test("rows whose keys are all hidden by the score are empty", async () => {
    const bonus = new Float32Array(256).fill(-Infinity);
    const returns = { lse: true, entropy: true } as const;
    const { output, lse } = await hw.scaledDotProductAttention(query, key, value, {
      ...options,
      score: score.with({ bonus }),
      location: "cpu",
      returns,
    });
    expect(floats(output).slice(0, 2 * D)).toEqual(Array.from({ length: 2 * D }, () => 0));
    expect([...lse.data].slice(0, 2)).toEqual([-Infinity, -Infinity]);
    expect([...lse.data].slice(2).every(Number.isFinite)).toBe(true);
  });

  test("inspections show the stages before and after the formula", async () => {
    const at = async (stage: "biased" | "formula") =>
      ((await run({ returns: { scores: stage } })) as unknown as { scores: { data: Float32Array } }).scores.data;
    const [biased, scored] = [await at("biased"), await at("formula")];
    for (let n = 0; n < biased.length; ++n) {
      const [h, q, k] = [Math.floor(n / 120), 50 + (Math.floor(n / 60) % 2), n % 60];
      const wanted = h === 0 ? biased[n]! + BONUS[k]! : biased[n]! * 2;
      if (biased[n] === -Infinity) expect([n, scored[n]]).toEqual([n, -Infinity]);
      else expect([n, q, scored[n]]).toEqual([n, q, wanted === -Infinity ? wanted : expect.closeTo(wanted, 4)]);
    }
    const { topK } = (await run({ returns: { topK: 60 } })) as unknown as {
      topK: { indices: { data: Int32Array } };
    };
    const listed = [...topK.indices.data.subarray(0, 60)].filter((j) => j >= 0);
    expect(listed.sort((a, b) => a - b)).toEqual([...Array(60).keys()].filter((k) => isVisible(50, k)));
  });

  test.each(["float32", "float16", "int8"] as const)("a ring of %s has its keys at their positions", async (dtype) => {
    const ring = { keepFirst: 3, window: 30 };
    const cache = await hw.kvCache({ batchSize: 1, numKvHeads: H, headDim: D, dtype, ring });
    await cache.append(key, value);
    const { output } = await cache.attend(query, { score, visible });
    cache.dispose();
    const positions = [0, 1, 2, ...Array.from({ length: 30 }, (_, n) => 30 + n)];
    const rows = (data: Float32Array) =>
      Float32Array.from(positions.flatMap((p) => [...data.subarray(p * D, (p + 1) * D)]));
    const wanted = outputOfHead0(head0(query), rows(head0(key)), rows(head0(value)), 58, positions);
    expectClose(floats(output).slice(0, 2 * D), wanted, { float32: 1e-5, float16: 2e-3, int8: 5e-2 }[dtype]);
  });

  test("in a ragged batch positions and tables begin anew with each sequence, and b is its number", async () => {
    const packed = { layout: "BSHD", cuSeqLensQuery: [0, 2, 2, 3], cuSeqLensKey: [0, 25, 30, 60] } as const;
    const turned = ({ data }: typeof key, length: number) => ({
      data: Float32Array.from({ length: data.length }, (_, n) => {
        const [d, h, i] = [n % D, Math.floor(n / D) % H, Math.floor(n / D / H)];
        return data[(h * length + i) * D + d]!;
      }),
      shape: [1, length, H, D],
    });
    const three = tensorOf(4, 3);
    const { output } = await hw.scaledDotProductAttention(turned(three, 3), turned(key, 60), turned(value, 60), {
      ...packed,
      score,
      visible,
      queryOffset: [20, 0, 25],
    });
    const part = (data: Float32Array, from: number, to: number) => data.subarray(from * D, to * D);
    const wanted = [
      [0, 2, 0, 25, 20],
      [2, 3, 30, 60, 25],
    ].flatMap(([q0, q1, k0, k1, offset]) =>
      outputOfHead0(
        part(head0(three), q0!, q1!),
        part(head0(key), k0!, k1!),
        part(head0(value), k0!, k1!),
        offset!,
        Array.from({ length: k1! - k0! }, (_, n) => n),
      ),
    );
    const found = floats(output).filter((_, n) => Math.floor(n / D) % H === 0);
    expectClose(found, wanted, 1e-5);
  });

  test("a layer and a recorded call take formulas", async () => {
    const device = hw.gpu!.device as GPUDevice;
    const encoder = device.createCommandEncoder();
    const recorded = await hw.scaledDotProductAttention(query, key, value, { encoder, ...options });
    device.queue.submit([encoder.finish()]);
    const output = await recorded.output.data();
    expect([...(output as Float32Array)]).toEqual(floats((await run()).output));
    recorded.output.dispose();

    const weight = (seed: number) => randomTensor(seed, [24, 24], 0.3);
    const weights = { Wq: weight(1), Wk: weight(2), Wv: weight(3), Wo: weight(4) };
    const layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights });
    const x = randomTensor(6, [1, 4, 24]);
    const [found, wanted] = [
      await layer.forward(x, { visible: formula("k <= q") }),
      await layer.forward(x, { causal: true }),
    ];
    expectClose(floats(found.output), floats(wanted.output), 1e-6);
    layer.dispose();
  });

  test("formulas count in the memory of a call", async () => {
    const shape = { batchSize: 1, numHeads: H, queryLength: 2, keyLength: 60, headDim: D };
    const bytes = async (options: AttentionOptions) => (await hw.plan(shape, options)).bytes.webgpu!;
    // both tables, w, and what the kernels know of them
    expect((await bytes({ score, visible }))["formulas"]).toBeGreaterThan(4 * (DOCUMENTS.length + BONUS.length + 1));
    expect((await bytes({}))["formulas"]).toBeUndefined();
  });
});
