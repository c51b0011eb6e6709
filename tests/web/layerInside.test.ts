// What `layer.forward` shows of the inside of a layer, and what it overwrites there.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  createAttention,
  type Attention,
  type ForwardOptions,
  type Layer,
  type LayerOptions,
  type PatchRows,
  type TypedTensor,
} from "headwise";
import { createAttention as createInWorker } from "headwise/worker";

import { bits, differences } from "./close.js";
import { variants } from "./engines.js";
import { randomTensor } from "./randomTensor.js";
import { EPSILON } from "../attention-conformance/reference/reference.js";

type Floats = TypedTensor<"float32">;
/** Options of calls whose results are in JavaScript. */
type Options = Omit<ForwardOptions, "location" | "returns" | "save">;

const [B, S, INPUT, HEADS, KV, D, DV, OUTPUT] = [2, 7, 5, 4, 2, 6, 3, 5];
const GROUP = HEADS / KV;

const weights = {
  Wq: randomTensor(11, [INPUT, HEADS * D]),
  Wk: randomTensor(12, [INPUT, KV * D]),
  Wv: randomTensor(13, [INPUT, KV * DV]),
  Wo: randomTensor(14, [HEADS * DV, OUTPUT]),
  bq: randomTensor(15, [HEADS * D]),
  bk: randomTensor(16, [KV * D]),
  bv: randomTensor(17, [KV * DV]),
  bo: randomTensor(18, [OUTPUT]),
};
const plain: LayerOptions = { numHeads: HEADS, numKvHeads: KV, valueHeadDim: DV, weights };
const x = randomTensor(1, [B, S, INPUT]);
const everything = { query: true, key: true, value: true, headOutputs: true, contributions: true } as const;

/** The chosen heads and rows of a tensor [B, heads, rows, width]. */
function chosen({ data, shape }: Floats, heads: readonly number[], rows: readonly number[]): Floats {
  const [batch, numHeads, numRows, width] = shape as [number, number, number, number];
  const parts = Array.from({ length: batch }, (_, b) =>
    heads.flatMap((h) =>
      rows.map((r) => {
        const from = ((b * numHeads + h) * numRows + r) * width;
        return [...data.subarray(from, from + width)];
      }),
    ),
  );
  return {
    data: Float32Array.from(parts.flat(2)),
    shape: [batch, heads.length, rows.length, width],
    dtype: "float32",
  };
}

/** The sum of `terms` products in float32 has at most this error, for a sum of their sizes. */
const errorOf = (terms: number, size: number) => (terms + 2) * EPSILON * size;

/** x W + b in double, as [B, heads, S, width], with the error that float32 may have. */
function projected(weight: Floats, bias: Floats, heads: number) {
  const width = weight.shape[1]! / heads;
  const values = new Float64Array(B * heads * S * width);
  const tolerance = new Float64Array(values.length);
  values.forEach((_, at) => {
    const d = at % width;
    const s = Math.floor(at / width) % S;
    const h = Math.floor(at / (width * S)) % heads;
    const b = Math.floor(at / (width * S * heads));
    let [sum, size] = [bias.data[h * width + d]!, Math.abs(bias.data[h * width + d]!)];
    for (let i = 0; i < INPUT; ++i) {
      const term = x.data[(b * S + s) * INPUT + i]! * weight.data[i * heads * width + h * width + d]!;
      sum += term;
      size += Math.abs(term);
    }
    values[at] = sum;
    tolerance[at] = errorOf(INPUT, size);
  });
  return { values, tolerance };
}

/** Calls `visit` for each element of [B, HEADS, S, width]. */
function forEachElement(width: number, visit: (at: number, b: number, h: number, i: number, d: number) => void): void {
  for (let at = 0; at < B * HEADS * S * width; ++at)
    visit(
      at,
      Math.floor(at / (width * S * HEADS)),
      Math.floor(at / (width * S)) % HEADS,
      Math.floor(at / width) % S,
      at % width,
    );
}

describe.each(variants)("the inside of a layer (%s)", (variant) => {
  let hw: Attention;
  let layer: Layer;
  const made: Layer[] = [];
  const make = async (options: Partial<LayerOptions> = {}): Promise<Layer> => {
    const result = await hw.multiHeadAttention({ ...plain, ...options });
    made.push(result);
    return result;
  };
  beforeAll(async () => {
    hw = await createAttention({ variant, threads: 2 });
    layer = await make();
  });
  afterAll(() => {
    for (const each of made) each.dispose();
    hw.dispose();
  });

  describe("what is shown", () => {
    test("query, key and value are the projections", async () => {
      const shown = await layer.forward(x, { returns: everything });
      expect(shown.query.shape).toEqual([B, HEADS, S, D]);
      expect(shown.key.shape).toEqual([B, KV, S, D]);
      expect(shown.value.shape).toEqual([B, KV, S, DV]);
      expect(differences(shown.query, projected(weights.Wq, weights.bq, HEADS))).toEqual([]);
      expect(differences(shown.key, projected(weights.Wk, weights.bk, KV))).toEqual([]);
      expect(differences(shown.value, projected(weights.Wv, weights.bv, KV))).toEqual([]);
    });

    const kinds: [string, Partial<LayerOptions>, Options][] = [
      ["a plain layer", {}, {}],
      ["rotary embedding and norm", { position: { kind: "rotary" }, qkNorm: { kind: "rms" } }, { causal: true }],
      ["masks and lengths", {}, { keyLengths: [5, 7], queryLengths: [7, 4], window: { left: 2 } }],
      ["headGain and sinks", {}, { headGain: [1, 0, 2, -1], sinks: [0, 1, 2, 3] }],
    ];
    test.each(kinds)("headOutputs are the attention of query, key and value: %s", async (_, options, settings) => {
      const each = await make(options);
      const { query, key, value, headOutputs } = await each.forward(x, { ...settings, returns: everything });
      const { output } = await hw.scaledDotProductAttention(query, key, value, settings);
      expect(headOutputs.shape).toEqual([B, HEADS, S, DV]);
      expect(bits(headOutputs)).toEqual(bits(output));
    });

    test("contributions are headOutputs times Wo, and sum with the bias to the output", async () => {
      const { headOutputs, contributions, output } = await layer.forward(x, { returns: everything });
      expect(contributions.shape).toEqual([B, HEADS, S, OUTPUT]);
      const values = new Float64Array(contributions.data.length);
      const sizes = new Float64Array(values.length);
      const sums = Float64Array.from(output.data, (_, at) => weights.bo.data[at % OUTPUT]!);
      const sumSizes = sums.map(Math.abs);
      forEachElement(OUTPUT, (at, b, h, i, o) => {
        for (let d = 0; d < DV; ++d) {
          const term =
            headOutputs.data[((b * HEADS + h) * S + i) * DV + d]! * weights.Wo.data[(h * DV + d) * OUTPUT + o]!;
          values[at]! += term;
          sizes[at]! += Math.abs(term);
        }
        sums[(b * S + i) * OUTPUT + o]! += contributions.data[at]!;
        sumSizes[(b * S + i) * OUTPUT + o]! += sizes[at]!;
      });
      expect(differences(contributions, { values, tolerance: sizes.map((size) => errorOf(DV, size)) })).toEqual([]);
      const tolerance = sumSizes.map((size) => 2 * errorOf(HEADS * DV, size));
      expect(differences(output, { values: sums, tolerance })).toEqual([]);
    });

    test("a selection has the rows of the whole", async () => {
      const all = await layer.forward(x, { returns: everything });
      const [heads, queries] = [
        [3, 0],
        [6, 2, 2],
      ] as const;
      const slice = { heads, queries };
      const kv = { heads: [1], keys: [4, 0] };
      const some = await layer.forward(x, {
        returns: { output: false, query: slice, key: kv, value: kv, headOutputs: slice, contributions: slice },
      });
      for (const name of ["query", "headOutputs", "contributions"] as const)
        expect(bits(some[name])).toEqual(bits(chosen(all[name], heads, queries)));
      for (const name of ["key", "value"] as const)
        expect(bits(some[name])).toEqual(bits(chosen(all[name], [1], [4, 0])));
      const { key } = await layer.forward(x, { returns: { key: { queries: [4] } } });
      expect(bits(key)).toEqual(bits(chosen(all.key, [0, 1], [4])));
    });

    test("nothing else is computed or returned", async () => {
      expect(Object.keys(await layer.forward(x, { returns: { output: false, headOutputs: true } }))).toEqual([
        "headOutputs",
      ]);
      expect(Object.keys(await layer.forward(x, { returns: { query: false } }))).toEqual(["output"]);
    });

    test("results have the rank of x, and do not depend on the layout", async () => {
      const one = { data: x.data.slice(0, S * INPUT), shape: [S, INPUT] };
      const { contributions, key } = await layer.forward(one, { returns: everything });
      expect(contributions.shape).toEqual([HEADS, S, OUTPUT]);
      expect(key.shape).toEqual([KV, S, D]);
      const columns = await make({
        layout: "BES",
        outputProjection: false,
        weights: { ...weights, Wo: undefined!, bo: undefined! },
      });
      const turned = new Float32Array(S * INPUT).map((_, at) => one.data[(at % S) * INPUT + Math.floor(at / S)]!);
      const shown = await columns.forward(
        { data: turned, shape: [INPUT, S] },
        { returns: { key: true, headOutputs: true } },
      );
      expect(bits(shown.key)).toEqual(bits(key));
      expect(shown.headOutputs.shape).toEqual([HEADS, S, DV]);
    });

    test.each(["float32", "float16", "int8"] as const)(
      "with a cache, key and value are all that it holds (%s)",
      async (dtype) => {
        const cache = await layer.kvCache({ batchSize: B, dtype });
        await layer.forward(
          { data: x.data.slice(0, B * 3 * INPUT), shape: [B, 3, INPUT] },
          { cache, appendLengths: [3, 1] },
        );
        const { key, value } = await layer.forward(
          { data: x.data.slice(0, B * 2 * INPUT), shape: [B, 2, INPUT] },
          { cache, returns: everything },
        );
        const held = await cache.read();
        expect(key.shape).toEqual([B, KV, 5, D]);
        expect(value.shape).toEqual([B, KV, 5, DV]);
        for (let b = 0; b < B; ++b)
          for (let g = 0; g < KV; ++g)
            for (let j = 0; j < 5; ++j) {
              const row = ((b * KV + g) * 5 + j) * D;
              const shown = key.data.subarray(row, row + D);
              expect(shown).toEqual(j < [5, 3][b]! ? held.key.data.subarray(row, row + D) : new Float32Array(D));
            }
        cache.dispose();
      },
    );
  });

  describe("what is overwritten", () => {
    const settings: Options = { causal: true, headGain: [1, 0.5, 2, 1] };
    const results = { ...everything, probs: true, lse: true, entropy: true, topK: 3 } as const;

    test("patches with the call's own data change no bit", async () => {
      for (const options of [{}, { position: { kind: "rotary" }, qkNorm: { kind: "l2" } }] as const) {
        const each = await make(options);
        const own = await each.forward(x, { ...settings, returns: results });
        const { query, key, value, headOutputs } = own;
        const again = await each.forward(x, {
          ...settings,
          returns: results,
          patch: { query, key, value, headOutputs },
        });
        expect(bits(again)).toEqual(bits(own));
        const rows = [5, 1];
        const some = await each.forward(x, {
          ...settings,
          returns: results,
          patch: {
            query: { heads: [2], queries: rows, ...chosen(query, [2], rows) },
            key: { heads: [1], keys: rows, data: chosen(key, [1], rows) },
            headOutputs: { queries: rows, data: chosen(headOutputs, [0, 1, 2, 3], rows) },
          },
        });
        expect(bits(some)).toEqual(bits(own));
      }
    });

    test("patched queries, keys and values act as if they had come about by themselves", async () => {
      const query = randomTensor(31, [B, HEADS, S, D]);
      const key = randomTensor(32, [B, KV, S, D]);
      const value = randomTensor(33, [B, KV, S, DV]);
      const { headOutputs, probs } = await layer.forward(x, {
        ...settings,
        returns: results,
        patch: { query, key, value },
      });
      const expected = await hw.scaledDotProductAttention(query, key, value, { ...settings, returns: { probs: true } });
      expect(bits(headOutputs)).toEqual(bits(expected.output));
      expect(bits(probs)).toEqual(bits(expected.probs));
    });

    test("rows that were not chosen keep their bits", async () => {
      const own = await layer.forward(x, { returns: everything });
      const { headOutputs, query } = await layer.forward(x, {
        returns: everything,
        patch: { query: { heads: [1], queries: [3], data: [0.5] } },
      });
      forEachElement(D, (at, _b, h, i) => {
        expect(query.data[at]).toBe(h === 1 && i === 3 ? 0.5 : own.query.data[at]);
      });
      forEachElement(DV, (at, _b, h, i) => {
        if (h !== 1 || i !== 3) expect(headOutputs.data[at]).toBe(own.headOutputs.data[at]);
      });
      expect(headOutputs.data).not.toEqual(own.headOutputs.data);
    });

    test("data broadcasts from the right, and may be float16", async () => {
      const row = [1, -2, 0.5];
      const full = Float32Array.from({ length: B * 2 * S * DV }, (_, at) => row[at % DV]!);
      const patched = (rows: PatchRows) => layer.forward(x, { patch: { headOutputs: { heads: [0, 2], ...rows } } });
      const expected = await patched({ data: full, shape: [B, 2, S, DV] });
      expect(bits(await patched({ data: Float32Array.from(row), shape: [DV] }))).toEqual(bits(expected));
      expect(bits(await patched({ data: [row] }))).toEqual(bits(expected));
      const halves = { data: Uint16Array.of(0x3c00, 0xc000, 0x3800), shape: [1, 1, 1, DV] };
      expect(bits(await patched({ data: halves }))).toEqual(bits(expected));
    });

    test("a gain of 0 is a patch of zeros", async () => {
      const gain = await layer.forward(x, { headGain: [1, 0, 1, 1] });
      const patch = await layer.forward(x, { patch: { headOutputs: { heads: [1], data: [0] } } });
      expect(bits(patch)).toEqual(bits(gain));
    });

    test("a cache stores patched keys and values", async () => {
      const cache = await layer.kvCache({ batchSize: B });
      const key = randomTensor(41, [B, KV, S, D]);
      await layer.forward(x, { cache, patch: { key, value: { data: [0.25] } } });
      const held = await cache.read();
      expect(held.key.data).toEqual(key.data);
      expect([...new Set(held.value.data)]).toEqual([0.25]);
      cache.dispose();
    });

    /** Weights [B, HEADS, S, S] of which some are 0, others negative or above 1. */
    const given = randomTensor(51, [B, HEADS, S, S], 2);
    given.data.forEach((_, at) => {
      if (at % 3 === 0) given.data[at] = 0;
    });

    test("patched weights give the sums of the values by weight", async () => {
      const { value, headOutputs, probs, entropy } = await layer.forward(x, {
        ...settings,
        returns: results,
        patch: { probs: given },
      });
      expect(bits(probs)).toEqual(bits(given));
      const values = new Float64Array(headOutputs.data.length);
      const tolerance = new Float64Array(values.length);
      forEachElement(DV, (at, b, h, i, d) => {
        const gain = (settings.headGain as number[])[h]!;
        let size = 0;
        for (let j = 0; j < S; ++j) {
          const term =
            gain *
            given.data[((b * HEADS + h) * S + i) * S + j]! *
            value.data[((b * KV + Math.floor(h / GROUP)) * S + j) * DV + d]!;
          values[at]! += term;
          size += Math.abs(term);
        }
        tolerance[at] = errorOf(S + 1, size);
      });
      expect(differences(headOutputs, { values, tolerance })).toEqual([]);
      const uniform = await layer.forward(x, { returns: results, patch: { probs: { data: [1 / S] } } });
      uniform.entropy.data.forEach((nats) => expect(nats).toBeCloseTo(Math.log(S), 6));
      expect([...entropy.data].some(Number.isNaN)).toBe(true); // a negative weight has no logarithm
    });

    test("patches with the call's own weights stay within the error of the sums", async () => {
      const own = await layer.forward(x, { ...settings, returns: results });
      const again = await layer.forward(x, { ...settings, returns: results, patch: { probs: own.probs } });
      expect(bits(again.probs)).toEqual(bits(own.probs));
      expect(bits(again.topK)).toEqual(bits(own.topK));
      const largest = Math.max(...own.value.data.map(Math.abs));
      const tolerance = Float64Array.from(own.headOutputs.data, () => 2 * errorOf(S + 4, 2 * largest));
      const expected = { values: Float64Array.from(own.headOutputs.data), tolerance };
      expect(differences(again.headOutputs, expected)).toEqual([]);
    });

    test("a key with weight 0 has no effect, even if its value is NaN", async () => {
      const call = async (hidden: number) =>
        layer.forward(x, {
          returns: { headOutputs: true, probs: { average: true }, topK: { k: 2, heads: [3] } },
          patch: {
            value: { keys: [2, 5], data: [hidden] },
            probs: { queries: [0, 6], data: [[0.5, 0.5, 0, 0, 1, 0, 0]] },
            headOutputs: { queries: [1, 2, 3, 4, 5], data: [0] },
          },
        });
      expect(bits(await call(NaN))).toEqual(bits(await call(1)));
      expect(bits(await call(-Infinity))).toEqual(bits(await call(1)));
    });

    test("weights may be at hidden keys, and rows without keys take them", async () => {
      const { headOutputs, value } = await layer.forward(x, {
        causal: true,
        queryOffset: -1, // row 0 sees nothing
        returns: everything,
        patch: { probs: { queries: [0], data: [[0, 0, 0, 0, 0, 0, 1]] } },
      });
      forEachElement(DV, (at, b, h, i, d) => {
        if (i === 0)
          expect(headOutputs.data[at]).toBe(value.data[((b * KV + Math.floor(h / GROUP)) * S + S - 1) * DV + d]);
      });
    });

    test("rows whose weights are given are not empty, and other rows are", async () => {
      const call = (queries: number[], data: PatchRows["data"], emptyRows: "zero" | "throw") =>
        layer.forward(x, {
          causal: true,
          queryOffset: -2, // rows 0 and 1 see nothing
          emptyRows,
          returns: { ...everything, probs: true, lse: true },
          patch: { probs: { queries, data } },
        });
      const row = [[0, 0, 0, 0, 0, 0.5, 1]];
      expect(bits(await call([1, 0], row, "throw"))).toEqual(bits(await call([1, 0], row, "zero")));
      expect(bits(await call([0, 1], [0], "throw"))).toEqual(bits(await call([0, 1], [0], "zero")));
      const rows = [0, 1].flatMap((batch) => [0, 1, 2, 3].map((head) => ({ batch, head, query: 1 })));
      await expect(call([0], row, "throw")).rejects.toMatchObject({ code: "EMPTY_ROW", rows });
      await expect(call([0, 1], "mean", "throw")).rejects.toMatchObject({ code: "EMPTY_ROW" }); // of no keys
    });

    test("weights of a cache's keys", async () => {
      const cache = await layer.kvCache({ batchSize: B, dtype: "float16" });
      await layer.forward(x, { cache });
      const token = { data: x.data.slice(0, B * INPUT), shape: [B, 1, INPUT] };
      const { headOutputs, value } = await layer.forward(token, {
        cache,
        returns: everything,
        patch: { probs: { heads: [3], data: [[0, 1, 0, 0, 0, 0, 0, 0]] } },
      });
      for (let b = 0; b < B; ++b)
        expect(chosen(headOutputs, [3], [0]).data.slice(b * DV, (b + 1) * DV)).toEqual(
          chosen(value, [1], [1]).data.slice(b * DV, (b + 1) * DV),
        );
      cache.dispose();
    });

    test.each(["query", "key", "value", "headOutputs"] as const)(
      "the mean of %s is that of a head's rows",
      async (name) => {
        const own = await layer.forward(x, { queryLengths: [7, 4], keyLengths: [6, 7], returns: everything });
        const lengths = name === "query" || name === "headOutputs" ? [7, 4] : [6, 7];
        const patched = await layer.forward(x, {
          queryLengths: [7, 4],
          keyLengths: [6, 7],
          returns: everything,
          patch: { [name]: name === "query" ? "mean" : { heads: [1], data: "mean" } },
        });
        const [, heads, rows, width] = own[name].shape as [number, number, number, number];
        const isChosen = (h: number) => name === "query" || h === 1;
        for (let h = 0; h < heads; ++h)
          for (let d = 0; d < width; ++d) {
            const places = lengths.flatMap((length, b) =>
              Array.from({ length }, (_, i) => ((b * heads + h) * rows + i) * width + d),
            );
            const mean = places.reduce((sum, at) => sum + own[name].data[at]!, 0) / places.length;
            for (let b = 0; b < B; ++b)
              for (let i = 0; i < rows; ++i) {
                const at = ((b * heads + h) * rows + i) * width + d;
                expect(patched[name].data[at]).toBe(
                  isChosen(h) && i < lengths[b]! ? Math.fround(mean) : own[name].data[at],
                );
              }
          }
      },
    );

    test("the mean of weights is that of the keys that the row sees", async () => {
      const { probs } = await layer.forward(x, {
        causal: true,
        queryLengths: [7, 4],
        returns: results,
        patch: { probs: "mean" },
      });
      for (let b = 0; b < B; ++b)
        for (let i = 0; i < S; ++i)
          for (let j = 0; j < S; ++j) {
            const first = [0, S - [7, 4][b]!][b]!;
            const seen = i < [7, 4][b]! && j <= i + first;
            expect(probs.data[((b * HEADS + 2) * S + i) * S + j]).toBeCloseTo(seen ? 1 / (i + first + 1) : 0, 6);
          }
    });

    test("padding stays as it is", async () => {
      const { output, headOutputs } = await layer.forward(x, {
        queryLengths: [7, 4],
        returns: everything,
        patch: { headOutputs: { data: [1] }, probs: { data: [1] } },
      });
      forEachElement(DV, (at, b, _h, i) => expect(headOutputs.data[at]).toBe(b === 1 && i >= 4 ? 0 : 1));
      expect(output.data.slice(-OUTPUT)).toEqual(weights.bo.data);
    });

    test("a ragged batch", async () => {
      const packed = { data: x.data, shape: [1, B * S, INPUT] };
      const ragged = { cuSeqLensQuery: [0, 5, 5, 14], cuSeqLensKey: [0, 6, 6, 14] };
      const own = await layer.forward(packed, { ...ragged, returns: results });
      const { query, key, value, headOutputs } = own;
      const again = await layer.forward(packed, {
        ...ragged,
        returns: results,
        patch: { query, key, value, headOutputs },
      });
      expect(bits(again)).toEqual(bits(own));
      const patched = await layer.forward(packed, {
        ...ragged,
        returns: everything,
        patch: { probs: { queries: [5], data: [Array.from({ length: 14 }, (_, j) => Number(j === 13))] } },
      });
      for (let h = 0; h < HEADS; ++h)
        expect(chosen(patched.headOutputs, [h], [5]).data).toEqual(chosen(value, [Math.floor(h / GROUP)], [13]).data);
    });
  });

  describe("what is refused", () => {
    const row = (data: unknown, more: object = {}) => ({ data, ...more }) as never;
    const refused: [string, ForwardOptions, string][] = [
      ["an unknown view", { returns: { keys: true } as never }, 'unknown option "keys" in returns'],
      [
        "a head that is not there",
        { returns: { key: { heads: [2] } } },
        "returns.key.heads[0] must be an integer from 0 to 1, got 2",
      ],
      [
        "a row that is not there",
        { returns: { value: { keys: [7] } } },
        "returns.value.keys[0] must be an integer from 0 to 6",
      ],
      [
        "two names of rows",
        { returns: { key: { keys: [0], queries: [0] } } },
        "returns.key.queries must be absent with keys",
      ],
      ["an average", { returns: { query: { average: true } as never } }, 'unknown option "average" in returns.query'],
      ["a patch of scores", { patch: { scores: "mean" } as never }, 'unknown option "scores" in patch'],
      ["a patch without data", { patch: { query: {} as never } }, "patch.query.data must be given"],
      ["a wrong shape", { patch: { query: row([[1, 2]]) } }, "patch.query.shape must broadcast from the right"],
      [
        "an index twice",
        { patch: { query: row([0], { heads: [1, 1] }) } },
        "patch.query.heads[1] must not occur twice, got 1 again",
      ],
      ["keys of queries", { patch: { query: row([0], { keys: [1] }) } }, 'unknown option "keys" in patch.query'],
      ["another word", { patch: { query: "zero" as never } }, "patch.query must be"],
      ["weights that are not finite", { patch: { probs: row([NaN]) } }, "patch.probs.data must be finite"],
      [
        "weights of padding",
        { keyLengths: [7, 3], patch: { probs: row([1]) } },
        "got 1 at key 3, query 0, head 0, batch 1",
      ],
      ["save", { save: true, patch: { query: "mean" } }, "save is not offered with patch"],
    ];
    test.each(refused)("%s", async (_, options, message) => {
      const before = await layer.forward(x);
      await expect(layer.forward(x, options)).rejects.toThrow(message);
      expect(bits(await layer.forward(x))).toEqual(bits(before));
    });

    test("weights of another sequence", async () => {
      const packed = { data: x.data, shape: [1, B * S, INPUT] };
      const ragged = { cuSeqLensQuery: [0, 5, 14], cuSeqLensKey: [0, 6, 14] };
      await expect(layer.forward(packed, { ...ragged, patch: { probs: { queries: [5], data: [1] } } })).rejects.toThrow(
        "0 outside of the keys from 6 to before 14, which the sequence has; got 1 at key 0, query 5",
      );
    });

    test("contributions of a layer without output projection", async () => {
      const each = await make({ outputProjection: false, weights: { ...weights, Wo: undefined!, bo: undefined! } });
      await expect(each.forward(x, { returns: { contributions: true } })).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: expect.stringContaining("returns.contributions needs an output projection") as unknown,
      });
    });

    test("what a cache turns or does not have", async () => {
      const cache = await layer.kvCache({ batchSize: B, rotary: {} });
      await expect(layer.forward(x, { cache, patch: { key: "mean" }, returns: { query: true } })).rejects.toThrow(
        "patch.key and returns.query must be absent with a cache that is rotary",
      );
      await layer.forward(x, { cache });
      await expect(layer.forward(x, { cache, attendOnly: true, patch: { value: "mean" } })).rejects.toThrow(
        "patch.value must be absent with attendOnly",
      );
      await expect(layer.forward(x, { cache, attendOnly: true, returns: { key: { keys: [7] } } })).rejects.toThrow(
        "returns.key.keys[0] must be an integer from 0 to 6",
      );
      expect(cache.length).toBe(7);
      cache.dispose();
    });
  });
});

test("a worker gives the same bits", async () => {
  const [here, there] = [await createAttention({ threads: 1 }), await createInWorker({ threads: 1 })];
  try {
    const options = {
      returns: { ...everything, probs: true },
      patch: { query: { heads: [1], data: "mean" }, probs: { heads: [0], data: [1 / S] } },
    } as const;
    const [a, b] = await Promise.all(
      [here, there].map(async (hw) => (await hw.multiHeadAttention(plain)).forward(x, options)),
    );
    expect(bits(b!)).toEqual(bits(a!));
  } finally {
    here.dispose();
    there.dispose();
  }
});
