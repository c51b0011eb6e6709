import { expect, test } from "@jest/globals";
import { UnsupportedError, type Attention, type ForwardOptions, type KvCacheOptions, type Layer } from "headwise";
import { formula } from "headwise/formula";

import { bits, differences } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { bothEngines, describeOnGpu, onSharedDevice } from "./gpu.js";
import { expectBits } from "./gpuResults.js";
import { CALLS, expected, layerOptions, PLAIN, referenceCall, TURNED, type Floats, type Given } from "./layerInside.js";
import { eachRow, insideOf, putMean, type Grid, type InsideName } from "./layerInsideReference.js";
import { thrown } from "../web/thrownBy.js";

const OWN = ["query", "key", "value", "headOutputs"] as const;
const SEEN = { query: true, key: true, value: true, headOutputs: true } as const;
const EVERYTHING = { probs: true, lse: true, entropy: true, topK: 2, scores: "formula" } as const;
/** Options of a call whose results come to the CPU. */
type CpuOptions = Omit<ForwardOptions, "location">;

const x = randomTensor(50, [2, 5, 12]);

describeOnGpu("patches of a layer on WebGPU", () => {
  let device: GPUDevice;
  let hw: Attention;
  onSharedDevice((own, instance) => {
    device = own;
    hw = instance;
  });

  const withLayer = async <T>(layer: Given["layer"], use: (made: Layer) => Promise<T>): Promise<T> => {
    const made = await hw.multiHeadAttention(layerOptions(layer));
    try {
      return await use(made);
    } finally {
      made.dispose();
    }
  };

  /** Calls a layer with a patch, and compares what it gives with the definition in which `overwrite` does the same. */
  const expectPatched = async (
    given: Given,
    patch: ForwardOptions["patch"] & object,
    overwrite: (name: InsideName, grid: Grid) => void,
  ) =>
    withLayer(given.layer, async (layer) => {
      const reference = insideOf(referenceCall(given), overwrite);
      const options = { ...given.options, ...(given.key && { key: given.key }) };
      const returns = { headOutputs: true, contributions: given.layer.weights.Wo !== undefined, probs: true };
      const result = await layer.forward(given.x, { ...options, patch, returns });
      for (const [name, part] of Object.entries(result) as [keyof typeof reference, Floats][]) {
        const wanted = name === "output" && !given.layer.weights.Wo ? inRows(reference.headOutputs) : reference[name];
        expect([name, differences(part, expected(wanted instanceof Float64Array ? wanted : wanted.data))]).toEqual([name, []]); // oxfmt-ignore
      }
    });

  test.each(CALLS)("%s: a call's own data changes no bit", async (_, given) => {
    await withLayer(given.layer, async (layer) => {
      const options = { ...given.options, ...(given.key && { key: given.key }) };
      const returns = { ...EVERYTHING, headOutputs: true, key: true, query: true, value: true } as const;
      const plain = await layer.forward(given.x, { ...options, returns });
      for (const names of [...OWN.map((name) => [name]), OWN]) {
        const patch = Object.fromEntries(names.map((name) => [name, { data: plain[name as "query"] }]));
        expect(bits(await layer.forward(given.x, { ...options, returns, patch }))).toEqual(bits(plain));
      }
    });
  });

  test.each(CALLS)("%s: patched rows are those of the definition", async (_, given) => {
    const { layer, x: tokens, key = tokens, options } = given;
    const [B, S] = tokens.shape as [number, number];
    const ragged = options?.cuSeqLensQuery !== undefined;
    const isQuery = (b: number, r: number) => ragged || r < (options?.queryLengths?.[b] ?? S);
    const isKey = (b: number, r: number) => ragged || r < (options?.keyLengths?.[b] ?? key.shape[1]!);
    const [heads, kvHeads, rows] = [[2, 0], [1], [3, 0, 4]];
    const widths = { query: layer.headDim, key: layer.headDim, value: layer.valueHeadDim, headOutputs: layer.valueHeadDim }; // oxfmt-ignore
    for (const name of OWN) {
      const isOfKeys = name === "key" || name === "value";
      const chosen = isOfKeys ? kvHeads : heads;
      const data = randomTensor(51, [B, chosen.length, rows.length, widths[name]]);
      const patch = { [name]: { heads: chosen, [isOfKeys ? "keys" : "queries"]: rows, data } };
      await expectPatched(given, patch, (at, grid) => {
        if (at !== name) return;
        const part = grid.slice(chosen, rows);
        part.data.set(data.data);
        for (let b = 0; b < B; ++b)
          chosen.forEach((h, m) =>
            rows.forEach((r, n) => {
              if ((isOfKeys ? isKey : isQuery)(b, r)) grid.row(b, h, r).set(part.row(b, m, n));
            }),
          );
      });
    }
  });

  test.each(CALLS)("%s: means are over the batch and all rows without padding", async (_, given) => {
    const { layer, x: tokens, key = tokens, options } = given;
    const S = tokens.shape[1]!;
    const isQuery = (b: number, r: number) => r < (options?.queryLengths?.[b] ?? S);
    const isKey = (b: number, r: number) => r < (options?.keyLengths?.[b] ?? key.shape[1]!);
    const every = (count: number) => Array.from({ length: count }, (_, n) => n);
    for (const name of OWN) {
      const isOfKeys = name === "key" || name === "value";
      const isToken = isOfKeys ? isKey : isQuery;
      const [heads, rows] = [isOfKeys ? layer.numKvHeads : layer.numHeads, isOfKeys ? key.shape[1]! : S];
      await expectPatched(given, { [name]: "mean" }, (at, grid) => {
        if (at === name) putMean(grid, every(heads), every(rows), isToken);
      });
      const some = { heads: [1], queries: [0, 2] };
      await expectPatched(given, { [name]: { ...some, data: "mean" } }, (at, grid) => {
        if (at === name) putMean(grid, some.heads, some.queries, isToken);
      });
    }
  });

  test("a mean of many rows is as exact as the error model", async () => {
    const many = randomTensor(52, [2, 700, 12]);
    await withLayer(PLAIN, async (layer) => {
      const { value } = await layer.forward(many, { returns: { output: false, value: true } });
      const patched = await layer.forward(many, { patch: { value: "mean" }, returns: { output: false, value: true } });
      const [means, sizes] = [new Float64Array(10), new Float64Array(10)];
      value.data.forEach((v, n) => {
        const column = (Math.floor(n / (700 * 5)) % 2) * 5 + (n % 5);
        means[column]! += v / 1400;
        sizes[column]! += Math.abs(v) / 1400;
      });
      // a sum of K products errs by at most (4 + K/4) ε; blocks of 16 for each of 8 invocations add 11 + 16 + 8 numbers
      const place = (_: unknown, n: number) => (Math.floor(n / (700 * 5)) % 2) * 5 + (n % 5);
      const values = Float64Array.from(value.data, (v, n) => means[place(v, n)]!);
      const tolerance = Float64Array.from(value.data, (v, n) => 40 * 2 ** -24 * sizes[place(v, n)]!);
      expect(differences(patched.value, { values, tolerance })).toEqual([]);
    });
  });

  test.each(CALLS)("%s: given weights are used as they are", async (_, given) => {
    const { x: tokens, key = tokens, options } = given;
    const [B, S, Skv] = [tokens.shape[0]!, tokens.shape[1]!, key.shape[1]!];
    const [heads, rows] = [
      [2, 0],
      [3, 0, 4],
    ];
    const data = randomTensor(53, [B, 2, 3, Skv]);
    // the keys of a row's sequence; row 3 begins the second one of the ragged batch
    const isRagged = options?.cuSeqLensQuery !== undefined;
    const beginOf = (row: number) => (isRagged && row >= 3 ? 3 : 0);
    const endOf = (row: number) => (isRagged && row < 3 ? 3 : Skv);
    for (let b = 0; b < B; ++b)
      for (let h = 0; h < 2; ++h)
        rows.forEach((row, r) => {
          for (let j = 0; j < Skv; ++j) {
            const isThere = j >= beginOf(row) && j < Math.min(endOf(row), options?.keyLengths?.[b] ?? Skv);
            if (!isThere || j % 3 === 1) data.data[((b * 2 + h) * 3 + r) * Skv + j] = 0;
          }
        });
    await expectPatched(given, { probs: { heads, queries: rows, data } }, (name, grid) => {
      if (name !== "probs") return;
      const part = grid.slice(heads, rows);
      part.data.set(data.data);
      for (let b = 0; b < B; ++b)
        heads.forEach((h, m) =>
          rows.forEach((r, n) => {
            if (r < (options?.queryLengths?.[b] ?? S)) grid.row(b, h, r).set(part.row(b, m, n));
          }),
        );
    });
  });

  test("lse and scores stay, and the entropy is that of the given weights", async () => {
    await withLayer(PLAIN, async (layer) => {
      const data = randomTensor(54, [2, 1, 2, 5]).data.map((w, n) => (n % 4 === 0 ? 0 : Math.abs(w)));
      const returns = {
        lse: true,
        scores: "raw",
        entropy: true,
        probs: { heads: [1, 1, 3], queries: [4, 2] },
      } as const;
      const plain = await layer.forward(x, { returns });
      const patch = { probs: { heads: [1], queries: [4, 0], data, shape: [2, 1, 2, 5] } };
      const patched = await layer.forward(x, { returns, patch });
      expect(bits({ lse: patched.lse, scores: patched.scores })).toEqual(
        bits({ lse: plain.lse, scores: plain.scores }),
      );
      const entropy = Float64Array.from(plain.entropy.data);
      const probs = Float64Array.from(plain.probs.data);
      for (let b = 0; b < 2; ++b) {
        [4, 0].forEach((query, r) => {
          const row = data.subarray((b * 2 + r) * 5, (b * 2 + r + 1) * 5);
          entropy[(b * 4 + 1) * 5 + query] = -row.reduce((sum, w) => sum + (w === 0 ? 0 : w * Math.log(w)), 0);
          if (query === 4) for (const n of [0, 1]) probs.set(row, ((b * 3 + n) * 2 + 0) * 5);
        });
      }
      expect(differences(patched.entropy, expected(entropy))).toEqual([]);
      expect(differences(patched.probs, { values: probs, tolerance: probs.map(() => 0) })).toEqual([]);
      const alone = await layer.forward(x, { returns: { output: false, entropy: true }, patch });
      expect(differences(alone.entropy, expected(entropy))).toEqual([]);
    });
  });

  test("the mean of weights is over the keys that a row sees", async () => {
    for (const given of [CALLS[1]![1], CALLS[4]![1], CALLS[6]![1]]) {
      const overwrite = (name: InsideName, grid: Grid) => {
        if (name !== "probs") return;
        eachRow(grid, (_b, h, _i, row) => {
          if (h === 3) return;
          const keys = row.reduce((count, p) => count + Number(p > 0), 0);
          const sum = row.reduce((total, p) => total + p, 0);
          row.forEach((p, j) => (row[j] = p > 0 ? sum / keys : 0));
        });
      };
      await expectPatched(given, { probs: { heads: [0, 2, 1], data: "mean" } }, overwrite);
    }
  });

  test("a mean of weights keeps the rows without keys as emptyRows says", async () => {
    const mask = { data: Uint8Array.from({ length: 5 * 5 }, (_, n) => Number(n >= 5)), shape: [1, 1, 5, 5], dtype: "bool" as const }; // oxfmt-ignore
    await withLayer(PLAIN, async (layer) => {
      for (const emptyRows of ["zero", "nan", "uniform"] as const) {
        const returns = { probs: { queries: [0] }, headOutputs: { queries: [0] }, entropy: true } as const;
        const plain = await layer.forward(x, { mask, emptyRows, returns });
        const patched = await layer.forward(x, { mask, emptyRows, returns, patch: { probs: "mean" } });
        for (const name of ["probs", "headOutputs"] as const)
          expect(differences(patched[name], expected(Float64Array.from(plain[name].data)))).toEqual([]);
        const first = (entropy: Float32Array) => Float64Array.from(entropy.filter((_, n) => n % 5 === 0));
        const entropy = { data: Float32Array.from(first(patched.entropy.data)), shape: [8] };
        expect(differences(entropy, expected(first(plain.entropy.data)))).toEqual([]);
      }
    });
  });

  test("rows whose weights are given are not empty, and other rows are", async () => {
    const returns = { probs: true, headOutputs: true, entropy: true } as const;
    await withLayer(PLAIN, async (layer) => {
      const call = (queries: number[], data: [number[]] | "mean", emptyRows: "zero" | "throw") =>
        layer.forward(x, {
          causal: true,
          queryOffset: -2, // rows 0 and 1 see nothing
          emptyRows,
          returns,
          patch: { probs: { heads: [2, 0, 1, 3], queries, data } },
        });
      const row: [number[]] = [[0, 0, 0, 0.5, 1]];
      expect(bits(await call([1, 0], row, "throw"))).toEqual(bits(await call([1, 0], row, "zero")));
      const rows = [0, 1].flatMap((batch) => [0, 1, 2, 3].map((head) => ({ batch, head, query: 1 })));
      expect(await thrown(call([0], row, "throw"))).toMatchObject({ code: "EMPTY_ROW", rows });
      expect(await thrown(call([0, 1], "mean", "throw"))).toMatchObject({ code: "EMPTY_ROW" }); // of no keys
      const packed = { data: x.data.slice(0, 5 * 12), shape: [1, 5, 12] };
      const ragged = { cuSeqLensQuery: [0, 3, 5], cuSeqLensKey: [0, 5, 5], emptyRows: "throw" } as const;
      const ofSecond = { probs: { queries: [4, 3], data: [0] } };
      expect((await layer.forward(packed, { ...ragged, patch: ofSecond })).output.shape).toEqual([1, 5, 14]);
    });
  });

  test("NaN has no effect at a key with weight 0, and spoils the row at another one", async () => {
    await withLayer(PLAIN, async (layer) => {
      const value = { data: new Float32Array(2 * 2 * 5).fill(NaN), shape: [2, 2, 1, 5] };
      const data = new Float32Array([0.5, 0, 0.25, -0, 1]);
      const returns = { headOutputs: true } as const;
      const patched = (keys: number[]) =>
        layer.forward(x, {
          returns,
          patch: { value: { keys, data: value }, probs: { data, shape: [5] } },
        });
      const plain = await layer.forward(x, { returns, patch: { probs: { data, shape: [5] } } });
      expect(bits(await patched([1]))).toEqual(bits(plain));
      expect(bits(await patched([3]))).toEqual(bits(plain));
      const spoiled = await patched([2]);
      expect(spoiled.headOutputs.data.every((number) => Number.isNaN(number))).toBe(true);
    });
  });

  test("NaN spoils the means that it is part of, and no others", async () => {
    const spoiled = { ...x, data: x.data.map((number, n) => (n === 3 * 12 ? NaN : number)) }; // batch 0, row 3
    const areNan = (data: Iterable<number>) => Array.from(data, (number) => Number.isNaN(number));
    await withLayer(PLAIN, async (layer) => {
      const returns = { value: { keys: [0] }, probs: true } as const;
      const all = await layer.forward(spoiled, { patch: { value: "mean" }, returns });
      expect(areNan(all.value.data)).not.toContain(false);
      const lengths = { keyLengths: [3, 5], queryLengths: [3, 5] };
      const without = await layer.forward(spoiled, { ...lengths, patch: { value: "mean" }, returns });
      expect(areNan(without.value.data)).not.toContain(true);
      const { probs } = await layer.forward(spoiled, { causal: true, patch: { probs: "mean" }, returns });
      const sees = (n: number) => n % 5 <= Math.floor(n / 5) % 5;
      const isSpoiled = (n: number) => n < 100 && Math.floor(n / 5) % 5 >= 3; // [2, 4, 5, 5]
      const expectedProbs = Float64Array.from(probs.data, (_, n) =>
        !sees(n) ? 0 : isSpoiled(n) ? NaN : 1 / ((Math.floor(n / 5) % 5) + 1),
      );
      expect(differences(probs, expected(expectedProbs))).toEqual([]);
    });
  });

  test("a head with gain 0 gives zeros, also with a weight at NaN", async () => {
    await withLayer(PLAIN, async (layer) => {
      const patch = {
        value: { keys: [1], data: new Float32Array(5).fill(NaN), shape: [5] },
        probs: { data: new Float32Array(5).fill(1), shape: [5] },
      };
      const { headOutputs } = await layer.forward(x, {
        headGain: [0, 1, 0, 1],
        patch,
        returns: { output: false, headOutputs: true },
      });
      const wanted = Float64Array.from(headOutputs.data, (_, n) => (Math.floor(n / 25) % 2 === 0 ? 0 : NaN));
      expect(differences(headOutputs, expected(wanted))).toEqual([]);
    });
  });

  test("a mean in a cache is over the tokens that the call appends", async () => {
    await withLayer(PLAIN, async (layer) => {
      const cache = await layer.kvCache({ batchSize: 2 });
      await layer.forward(randomTensor(59, [2, 4, 12]), { cache });
      const { key } = await layer.forward(x, { returns: { key: true } });
      await layer.forward(x, { cache, appendLengths: [5, 2], patch: { key: "mean" } });
      const held = await cache.read(4);
      const means = new Float64Array(12);
      const isToken = (b: number, r: number) => b === 0 || r < 2;
      key.data.forEach((number, n) => {
        const [b, g, r, d] = [Math.floor(n / 60), Math.floor(n / 30) % 2, Math.floor(n / 6) % 5, n % 6];
        if (isToken(b, r)) means[6 * g + d]! += number / 7;
      });
      const wanted = Float64Array.from(held.key.data, (_, n) =>
        isToken(Math.floor(n / 60), Math.floor(n / 6) % 5) ? means[6 * (Math.floor(n / 30) % 2) + (n % 6)]! : 0,
      );
      expect(differences(held.key, expected(wanted))).toEqual([]);
      cache.dispose();
    });
  });

  const caches: readonly [string, Omit<KvCacheOptions, "numKvHeads" | "headDim">][] = [
    ["float32", {}],
    ["float16", { dtype: "float16" }],
    ["int8", { dtype: "int8" }],
    ["a ring of int8", { dtype: "int8", ring: { keepFirst: 1, window: 5 } }],
  ];

  test.each(caches)("a cache of %s stores what is patched, and weights read it", async (_, options) => {
    await withLayer(PLAIN, async (layer) => {
      const [patched, plain] = [await layer.kvCache({ batchSize: 2, ...options }), await layer.kvCache({ batchSize: 2, ...options })]; // oxfmt-ignore
      const other = randomTensor(56, [2, 3, 12]);
      const first = randomTensor(55, [2, 4, 12]);
      for (const cache of [patched, plain]) await layer.forward(first, { cache });
      // the keys and values of other tokens in place of those of x
      const shown = await layer.forward(other, { returns: { output: false, key: true, value: true } });
      const more = { appendLengths: [3, 2], queryLengths: [3, 3] };
      const patch = { key: { data: shown.key }, value: { data: shown.value } };
      const tokens = randomTensor(57, [2, 3, 12]);
      await layer.forward(tokens, { ...more, cache: patched, patch });
      await layer.forward(other, { ...more, cache: plain });
      const held = await patched.read();
      expect(bits(held)).toEqual(bits(await plain.read()));

      const length = held.key.shape[2]!;
      const data = randomTensor(58, [1, 4, 1, length]).data.map((w, n) => (n % length === length - 1 ? 0 : w));
      const { headOutputs } = await layer.forward(tokens, {
        cache: patched,
        attendOnly: true,
        patch: { probs: { data, shape: [4, 1, length] } },
        returns: { headOutputs: true },
      });
      const sums = new Float64Array(headOutputs.data.length);
      sums.forEach((_, n) => {
        const [b, h, d] = [Math.floor(n / (4 * 3 * 5)), Math.floor(n / 15) % 4, n % 5];
        const at = (b * 2 + Math.floor(h / 2)) * length;
        for (let j = 0; j < length; ++j) sums[n]! += data[h * length + j]! * held.value.data[(at + j) * 5 + d]!;
      });
      expect(differences(headOutputs, expected(sums))).toEqual([]);
      patched.dispose();
      plain.dispose();
    });
  });

  test("a cache that is rotary takes patched values", async () => {
    await withLayer(PLAIN, async (layer) => {
      const options = { batchSize: 2, rotary: { base: 50 } };
      const [patched, plain] = [await layer.kvCache(options), await layer.kvCache(options)];
      const { value } = await layer.forward(x, { cache: plain, returns: { value: true } });
      const zeros = { ...value, data: value.data.map((v, n) => (Math.floor(n / 5) % 5 === 2 ? 0 : v)) };
      const patch = { value: { keys: [2], data: new Float32Array(5), shape: [5] } };
      const seen = await layer.forward(x, { cache: patched, patch, returns: { value: true } });
      expect(seen.value.data).toEqual(zeros.data);
      expect((await patched.read()).key.data).toEqual((await plain.read()).key.data);
    });
  });

  test("results on the GPU and recorded calls are patched too", async () => {
    await withLayer(TURNED, async (layer) => {
      const patch = {
        value: { heads: [1], data: "mean" },
        probs: { heads: [0], queries: [1], data: new Float32Array([1, 2, 0, 0, 3]), shape: [5] },
        headOutputs: { heads: [2], data: randomTensor(60, [5, 8]) },
      } as const;
      const returns = { probs: true, entropy: true, headOutputs: true, contributions: { heads: [2] } } as const;
      const wanted = bits(await layer.forward(x, { patch, returns }));
      const onGpu = await layer.forward(x, { patch, returns, location: "gpu" });
      const encoder = device.createCommandEncoder();
      const recorded = await layer.forward(x, { encoder, patch, returns });
      device.queue.submit([encoder.finish()]);
      for (const result of [onGpu, recorded]) await expectBits(result, wanted);
    });
  });

  test("a patched head without output projection is the output, in float16 too", async () => {
    const bare = CALLS.at(-1)![1];
    const halves = { data: Uint16Array.from(bare.x.data, (v) => (v < 0 ? 0xb800 : 0x3800)), shape: bare.x.shape, dtype: "float16" as const }; // oxfmt-ignore
    await withLayer(bare.layer, async (layer) => {
      const patch = { headOutputs: { heads: [1], queries: [0], data: [1, 2, 3, 4, 5] } };
      const { output } = await layer.forward(halves, { patch });
      expect(output.dtype).toBe("float16");
      expect(Array.from(output.data as Uint16Array).slice(5, 10)).toEqual([0x3c00, 0x4000, 0x4200, 0x4400, 0x4500]);
    });
  });

  test("topK and averaged probs with patched probs are refused by name", async () => {
    await withLayer(PLAIN, async (layer) => {
      const refused: readonly [ForwardOptions["returns"] & object, string][] = [
        [{ topK: 2 }, "returns.topK"],
        [{ probs: { average: true } }, "returns.probs.average"],
      ];
      for (const [returns, name] of refused) {
        const reason = await thrown(layer.forward(x, { returns, patch: { probs: "mean" } }));
        expect(UnsupportedError.is(reason)).toBe(true);
        expect(String(reason)).toContain(`layer.forward: ${name} with patch.probs is not offered on WebGPU`);
      }
    });
  });
});

describeOnGpu("patches on both engines", () => {
  const engines = bothEngines();
  const weights = (shape: readonly number[]) => {
    const { data } = randomTensor(61, shape);
    return { data: data.map((w, n) => (n % 3 === 0 || n % shape.at(-1)! > 2 ? 0 : w)), shape };
  };
  const cases: [string, CpuOptions][] = [
    ["means of everything", { causal: true, patch: { query: "mean", key: "mean", value: "mean", headOutputs: { heads: [1], data: "mean" } } }],
    ["weights, some at hidden keys", { causal: true, patch: { probs: { heads: [1, 2], queries: [0, 3], ...weights([2, 2, 2, 5]) } } }],
    ["weights at padding", { queryLengths: [5, 3], keyLengths: [5, 3], patch: { probs: weights([2, 4, 5, 5]) } }],
    ["the mean of weights", { causal: true, patch: { probs: "mean" } }],
    ["the mean of weights with sinks", { sinks: [0, 1, 2, 3], patch: { probs: { queries: [1], data: "mean" } } }],
    ["the mean of weights with a formula", { visible: formula("k <= q && k != 2"), patch: { probs: "mean" } }],
    ["rows without keys", { causal: true, queryOffset: -2, emptyRows: "uniform", patch: { probs: "mean", headOutputs: { queries: [0], data: [1] } } }],
    ["means of lengths", { queryLengths: [2, 5], keyLengths: [4, 3], patch: { query: { heads: [0], data: "mean" }, key: "mean", value: { heads: [1], data: "mean" } } }],
  ]; // oxfmt-ignore

  test.each(cases)("%s agree with wasm", async (_, options) => {
    const returns = { ...SEEN, contributions: { heads: [2] }, probs: true, entropy: true, lse: true } as const;
    const [actual, wanted] = await Promise.all(
      [engines.onGpu, engines.onCpu].map(async (hw) => {
        const layer = await hw.multiHeadAttention(layerOptions(TURNED));
        const result = await layer.forward(x, { ...options, returns });
        layer.dispose();
        return result;
      }),
    );
    for (const [name, tensor] of Object.entries(wanted!) as [keyof typeof returns, Floats][])
      expect([name, differences(actual![name], expected(Float64Array.from(tensor.data)))]).toEqual([name, []]);
  });
});

/** [B, heads, rows, width] as rows of all heads. */
function inRows(grid: Grid): Float64Array {
  const [batches, heads, rows, width] = grid.shape;
  const all = new Float64Array(batches * heads * rows * width);
  eachRow(grid, (b, h, r, row) => all.set(row, ((b * rows + r) * heads + h) * width));
  return all;
}
