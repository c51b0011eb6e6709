// What `cache.attend` and `cache.step` show of their inside, and what they overwrite there: claims that hold for every
// engine.

import { describe, expect, test } from "@jest/globals";
import { UnsupportedError, type Attention, type AttendOptions, type KvCache, type KvCacheOptions } from "headwise";

import {
  B,
  CACHES,
  chosen,
  D,
  DV,
  everything,
  HEADS,
  key,
  KV,
  placed,
  query,
  rowOf,
  S,
  SETTINGS,
  TOKENS,
  turned,
  value,
  weighed,
  type Floats,
} from "./attendInside.js";
import { bits, differences } from "./close.js";
import { randomTensor } from "./randomTensor.js";

/** Options of calls whose results are in JavaScript. */
type Options = Omit<AttendOptions, "location" | "returns">;

const exactly = ({ data }: Floats) => ({ values: Float64Array.from(data), tolerance: new Float64Array(data.length) });

/** Makes the tests of an instance. */
export function attendInsideTests(open: () => Attention): void {
  const withCache = async <T>(options: Partial<KvCacheOptions>, use: (cache: KvCache) => Promise<T>): Promise<T> => {
    const cache = await open().kvCache({ batchSize: B, numKvHeads: KV, headDim: D, valueDim: DV, ...options });
    try {
      await cache.append(key, value, { lengths: TOKENS });
      return await use(cache);
    } finally {
      cache.dispose();
    }
  };

  describe("what is shown", () => {
    test.each(CACHES)("a cache of %s: key and value are what read gives", (_, options) =>
      withCache(options, async (cache) => {
        const shown = await cache.attend(query, { returns: everything });
        const held = await cache.read();
        expect(bits({ key: shown.key, value: shown.value })).toEqual(bits({ key: held.key, value: held.value }));
      }),
    );

    test.each(CACHES)("a cache of %s: headOutputs are the output, and no other result has other bits", (_, options) =>
      withCache(options, async (cache) => {
        const results = { probs: true, lse: true, entropy: true, topK: 2, scores: "raw" } as const;
        const causal = { causal: true, ...placed(options) } as const;
        const plain = await cache.attend(query, { ...causal, returns: results });
        const looked = await cache.attend(query, { ...causal, returns: { ...results, ...everything } });
        const { output, probs, lse, entropy, topK, scores, headOutputs } = looked;
        expect(bits({ output, probs, lse, entropy, topK, scores })).toEqual(bits(plain));
        expect(bits(headOutputs)).toEqual(bits(plain.output));
      }),
    );

    test.each(SETTINGS)("%s: headOutputs are the sums of the values by weight, in every layout", (_, options) =>
      withCache({}, async (cache) => {
        const {
          probs,
          value: values,
          headOutputs,
        } = await cache.attend(query, {
          ...options,
          returns: { output: false, probs: true, ...everything },
        });
        expect(headOutputs.shape).toEqual([B, HEADS, S, DV]);
        expect(differences(headOutputs, weighed(probs, values, options.headGain as number[]))).toEqual([]);
        const rows = new Float32Array(query.data.length); // [B, S, HEADS, D]
        for (let at = 0; at < rows.length; ++at) {
          const [d, h, i] = [at % D, Math.floor(at / D) % HEADS, Math.floor(at / (D * HEADS)) % S];
          rows[at] = query.data[rowOf(HEADS, S, Math.floor(at / (D * HEADS * S)), h, i) * D + d]!;
        }
        const packed = await cache.attend(
          { data: rows, shape: [B, S, HEADS * D] },
          { ...options, layout: "BSE", returns: everything },
        );
        expect(bits({ query: packed.query, headOutputs: packed.headOutputs })).toEqual(bits({ query, headOutputs }));
      }),
    );

    test("query is the argument, and turned in a rotary cache", () =>
      withCache({ rotary: { base: 50 } }, async (cache) => {
        const shown = await cache.attend(query, { queryLengths: [6, 6], returns: { query: true } });
        expect(
          differences(
            shown.query,
            turned(query, 50, (b, i) => TOKENS[b]! - S + i),
          ),
        ).toEqual([]);
        await withCache({}, async (plain) => {
          const { query: same } = await plain.attend(query, { returns: { query: true } });
          expect(bits(same)).toEqual(bits(query));
          const { query: again } = await plain.attend(shown.query, { returns: { query: true } });
          expect(bits(again)).toEqual(bits(shown.query));
        });
      }));

    test("queries of float16 are shown as float32, and headOutputs before they are rounded", () =>
      withCache({}, async (cache) => {
        const halves = { data: Uint16Array.from(query.data, (x) => (x < 0 ? 0xb800 : 0x3800)), shape: query.shape, dtype: "float16" as const }; // oxfmt-ignore
        const wide = { data: query.data.map((x) => (x < 0 ? -0.5 : 0.5)), shape: query.shape };
        const plain = await cache.attend(halves);
        const shown = await cache.attend(halves, { returns: everything });
        const expected = await cache.attend(wide, { returns: { headOutputs: true } });
        expect(bits(shown.output)).toEqual(bits(plain.output));
        expect(Array.from(shown.query.data)).toEqual(Array.from(wide.data));
        expect(differences(shown.headOutputs, exactly(expected.headOutputs))).toEqual([]);
        const patch = { headOutputs: { heads: [1], data: [0.25] } };
        const { output } = await cache.attend(halves, { patch });
        expect([...new Set((output.data as Uint16Array).subarray(S * DV, 2 * S * DV))]).toEqual([0x3400]);
      }));

    test.each(CACHES)("a cache of %s: a selection has the rows of the whole, and nothing else is returned", (_, options) =>
      withCache(options, async (cache) => {
        const all = await cache.attend(query, { returns: everything });
        const [heads, queries, keys] = [[3, 0], [4, 2, 2], [5, 0]];
        const slice = { heads, queries };
        const kv = { heads: [1], keys };
        const returns = { output: false, query: slice, key: kv, value: kv, headOutputs: slice };
        const some = await cache.attend(query, { returns });
        expect(Object.keys(some).sort()).toEqual(["headOutputs", "key", "query", "value"]);
        for (const name of ["query", "headOutputs"] as const)
          expect(bits(some[name])).toEqual(bits(chosen(all[name], heads, queries)));
        for (const name of ["key", "value"] as const) expect(bits(some[name])).toEqual(bits(chosen(all[name], [1], keys)));
      }),
    ); // oxfmt-ignore

    test("step shows the new tokens too, in the rank of the query", async () => {
      const cache = await open().kvCache({ numKvHeads: KV, headDim: D, valueDim: DV });
      const [q, k, v] = [randomTensor(4, [HEADS, 3, D]), randomTensor(5, [KV, 3, D]), randomTensor(6, [KV, 3, DV])];
      const shown = await cache.step(q, k, v, { causal: true, returns: everything });
      expect(bits({ query: shown.query, key: shown.key, value: shown.value })).toEqual(
        bits({ query: q, key: k, value: v }),
      );
      expect(shown.headOutputs.shape).toEqual([HEADS, 3, DV]);
      cache.dispose();
    });
  });

  describe("what is overwritten", () => {
    const results = { ...everything, probs: true, lse: true, entropy: true, topK: 3 } as const;
    const own = { ...everything, probs: true, lse: true, entropy: true } as const;

    test.each(CACHES)("a cache of %s: the call's own queries and results change no bit", (_, options) =>
      withCache(options, async (cache) => {
        for (const [, given] of SETTINGS) {
          const settings = { ...given, ...placed(options) };
          const plain = await cache.attend(query, { ...settings, returns: results });
          const patch = { query: plain.query, headOutputs: plain.headOutputs };
          expect(bits(await cache.attend(query, { ...settings, returns: results, patch }))).toEqual(bits(plain));
        }
      }),
    );

    test("patched queries act as if they had been given, and other rows keep their bits", () =>
      withCache({}, async (cache) => {
        const other = randomTensor(7, [B, HEADS, S, D]);
        const plain = await cache.attend(query, { causal: true, returns: own });
        const wanted = await cache.attend(other, { causal: true, returns: own });
        const [heads, queries] = [[2, 0], [5, 1]]; // oxfmt-ignore
        const patch = { query: { heads, queries, data: chosen(other, heads, queries) } };
        const patched = await cache.attend(query, { causal: true, returns: own, patch });
        for (const name of ["query", "headOutputs", "probs"] as const) {
          const width = plain[name].shape[3]!;
          plain[name].data.forEach((number, at) => {
            const [h, i] = [Math.floor(at / (width * S)) % HEADS, Math.floor(at / width) % S];
            const from = heads.includes(h) && queries.includes(i) ? wanted[name].data[at] : number;
            expect(patched[name].data[at]).toBe(from);
          });
        }
      }));

    test("a rotary cache takes queries that are turned", () =>
      withCache({ rotary: { base: 50 } }, async (cache) => {
        const { query: seen, output } = await cache.attend(query, { returns: { query: true } });
        const { output: patched } = await cache.attend(randomTensor(8, [B, HEADS, S, D]), { patch: { query: seen } });
        expect(bits(patched)).toEqual(bits(output));
      }));

    test.each(SETTINGS)("%s: means are over the batch and all rows without padding", (_, options) =>
      withCache({}, async (cache) => {
        const lengths = (options.queryLengths as number[] | undefined) ?? [S, S];
        const plain = await cache.attend(query, { ...options, returns: everything });
        for (const name of ["query", "headOutputs"] as const) {
          const shown = await cache.attend(query, { ...options, returns: everything, patch: { [name]: "mean" } });
          const width = plain[name].shape[3]!;
          const values = Float64Array.from(plain[name].data);
          const count = lengths[0]! + lengths[1]!;
          for (let h = 0; h < HEADS; ++h)
            for (let d = 0; d < width; ++d) {
              const places = lengths.flatMap((length, b) =>
                Array.from({ length }, (_, i) => rowOf(HEADS, S, b, h, i) * width + d),
              );
              const mean = places.reduce((sum, at) => sum + plain[name].data[at]!, 0) / count;
              for (const at of places) values[at] = mean;
            }
          const largest = Math.max(...plain[name].data.map(Math.abs));
          const tolerance = values.map(() => (count + 2) * 2 ** -24 * largest);
          expect([name, differences(shown[name], { values, tolerance })]).toEqual([name, []]);
        }
      }),
    );

    test.each(CACHES)("a cache of %s: given weights are used as they are", (_, options) =>
      withCache(options, async (cache) => {
        const length = cache.length;
        const given = randomTensor(9, [B, HEADS, S, length], 2);
        given.data.forEach((_, at) => {
          const isThere = at % length < cache.lengths[Math.floor(at / (length * S * HEADS))]!;
          if (at % 3 === 0 || !isThere) given.data[at] = 0;
        });
        const {
          probs,
          value: values,
          headOutputs,
          output,
        } = await cache.attend(query, {
          ...{ causal: true, ...placed(options) },
          returns: { probs: true, value: true, headOutputs: true },
          patch: { probs: given },
        });
        expect(differences(probs, exactly(given))).toEqual([]);
        expect(bits(output)).toEqual(bits(headOutputs));
        expect(differences(headOutputs, weighed(given, values))).toEqual([]);
      }),
    );

    test.each([6, 80])(
      "topK ranks given weights of %p keys by value: negative ones come last, −0 is as 0",
      async (width) => {
        const cache = await open().kvCache({ numKvHeads: 1, headDim: 1 });
        await cache.append(randomTensor(4, [1, 1, width, 1]), randomTensor(5, [1, 1, width, 1]));
        const rows = [
          (j: number) => Math.sin(j),
          (j: number) => -1 - Math.cos(j),
          (j: number) => (j % 3 ? -0 : -1),
        ].map((weight) => Array.from({ length: width }, (_, j) => Math.fround(weight(j))));
        const returns = { output: false, topK: 3 };
        const call = cache.attend(randomTensor(6, [1, 1, 3, 1]), { returns, patch: { probs: { data: rows } } });
        if (open().report.backend === "webgpu") return expect(call).rejects.toMatchObject({ code: "UNSUPPORTED" });
        const { topK } = await call;
        const ranked = rows.map((row) => [...row.keys()].sort((a, b) => row[b]! - row[a]! || a - b).slice(0, 3));
        expect([...topK.indices.data]).toEqual(ranked.flat());
        expect([...topK.values.data]).toEqual(ranked.flatMap((keys, i) => keys.map((key) => rows[i]![key]! + 0)));
        cache.dispose();
      },
    );

    test("rows whose weights are given are not empty, and other rows are", () =>
      withCache({}, async (cache) => {
        const call = (queries: number[], emptyRows: "zero" | "throw") =>
          cache.attend(query, {
            ...{ causal: true, queryOffset: -2, emptyRows }, // rows 0 and 1 see nothing
            returns: { probs: true, headOutputs: true },
            patch: { probs: { queries, data: [[1, ...new Array<number>(cache.length - 1).fill(0)]] } },
          });
        expect(bits(await call([1, 0], "throw"))).toEqual(bits(await call([1, 0], "zero")));
        await expect(call([0], "throw")).rejects.toMatchObject({ code: "EMPTY_ROW" });
      }));

    test("the call's own weights stay within the error of the sums", () =>
      withCache({}, async (cache) => {
        const plain = await cache.attend(query, { causal: true, returns: own });
        const patched = await cache.attend(query, { causal: true, returns: own, patch: { probs: plain.probs } });
        expect(bits({ probs: patched.probs, lse: patched.lse })).toEqual(bits({ probs: plain.probs, lse: plain.lse }));
        expect(differences(patched.headOutputs, weighed(plain.probs, plain.value))).toEqual([]);
      }));

    test("the mean of weights is that of the keys that the row sees", () =>
      withCache({}, async (cache) => {
        const { probs } = await cache.attend(query, { causal: true, returns: { probs: true }, patch: { probs: "mean" } });
        probs.data.forEach((weight, at) => {
          const [j, i, b] = [at % 9, Math.floor(at / 9) % S, Math.floor(at / (9 * S * HEADS))];
          const seen = TOKENS[b]! - S + i + 1;
          expect(weight).toBeCloseTo(j < seen ? 1 / seen : 0, 6);
        });
      })); // oxfmt-ignore

    test("padding stays as it is", () =>
      withCache({}, async (cache) => {
        const { headOutputs, output } = await cache.attend(query, {
          queryLengths: [6, 3],
          keyLengths: [9, 7],
          returns: { headOutputs: true },
          patch: { headOutputs: { data: [1] } },
        });
        const wanted = headOutputs.data.map((_, at) => Number(at < HEADS * S * DV || Math.floor(at / DV) % S < 3));
        expect(headOutputs.data).toEqual(wanted);
        expect(output.data).toEqual(wanted);
      }));

    test("into gets the patched output", () =>
      withCache({}, async (cache) => {
        const into = randomTensor(10, [B, HEADS, S, DV]);
        await cache.attend(query, { into, patch: { headOutputs: { data: [2] } } });
        expect([...new Set(into.data)]).toEqual([2]);
      }));

    test("step patches the queries of its new tokens, and the cache stores what it was given", async () => {
      const [a, b] = await Promise.all([0, 1].map(() => open().kvCache({ numKvHeads: KV, headDim: D, valueDim: DV })));
      const [q, k, v] = [randomTensor(4, [1, HEADS, 3, D]), randomTensor(5, [1, KV, 3, D]), randomTensor(6, [1, KV, 3, DV])]; // oxfmt-ignore
      const other = randomTensor(11, [1, HEADS, 3, D]);
      const wanted = await a!.step(other, k, v, { causal: true });
      const { output } = await b!.step(q, k, v, { causal: true, patch: { query: other } });
      expect(bits(output)).toEqual(bits(wanted.output));
      const held = await b!.read();
      expect(bits({ key: held.key, value: held.value })).toEqual(bits({ key: k, value: v }));
      a!.dispose();
      b!.dispose();
    });
  });

  describe("what is refused, before anything changes", () => {
    const refused: [string, Options & { readonly returns?: object }, string][] = [
      ["contributions", { returns: { contributions: true } }, "returns.contributions is offered by layers, a cache has no output projection"],
      ["a patch of keys", { patch: { key: "mean" } as never }, "patch.key is offered by layers: a cache holds what was appended to it"],
      ["a patch of values", { patch: { value: { data: [0] } } as never }, "patch.value is offered by layers"],
      ["an unknown view", { returns: { keys: true } }, 'unknown option "keys" in returns'],
      ["a head that is not there", { returns: { key: { heads: [2] } } }, "returns.key.heads[0] must be an integer from 0 to 1, got 2"],
      ["a row that is not there", { returns: { value: { keys: [9] } } }, "returns.value.keys[0] must be an integer from 0 to 8, got 9"],
      ["two names of rows", { returns: { key: { keys: [0], queries: [0] } } }, "returns.key.queries must be absent with keys"],
      ["an average", { returns: { query: { average: true } } }, 'unknown option "average" in returns.query'],
      ["a patch of scores", { patch: { scores: "mean" } as never }, 'unknown option "scores" in patch'],
      ["a patch without data", { patch: { query: {} as never } }, "patch.query.data must be given"],
      ["a wrong shape", { patch: { query: { data: [[1, 2]] as never } } }, "patch.query.shape must broadcast from the right"],
      ["a shape of a mean", { patch: { query: { data: "mean", shape: [7] } } }, 'patch.query.shape must be left out where data is "mean", got [7]'],
      ["an index twice", { patch: { query: { heads: [1, 1], data: [0] as never } } }, "patch.query.heads[1] must not occur twice, got 1 again"],
      ["another word", { patch: { query: "zero" as never } }, "patch.query must be"],
      ["weights that are not finite", { patch: { probs: { data: [NaN] as never } } }, "patch.probs.data must be finite"],
      ["weights of padding", { patch: { probs: { data: [1] as never } } }, "got 1 at key 7, query 0, head 0, batch 1"],
    ]; // oxfmt-ignore

    test.each(refused)("%s", (_, options, message) =>
      withCache({}, async (cache) => {
        const before = await cache.attend(query);
        await expect(cache.attend(query, options as Options)).rejects.toThrow(message);
        expect(bits(await cache.attend(query))).toEqual(bits(before));
      }),
    );

    test("with hints, as UnsupportedError", () =>
      withCache({}, async (cache) => {
        for (const options of [{ returns: { contributions: true } }, { patch: { key: "mean" } }]) {
          const error = await cache.step(query, key, value, options as never).catch((reason: unknown) => reason);
          expect(UnsupportedError.is(error)).toBe(true);
          expect((error as UnsupportedError).hint).toBeDefined();
          expect(cache.lengths).toEqual(TOKENS);
        }
      }));
  });
}
