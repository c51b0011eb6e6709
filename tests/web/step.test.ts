// Recorded steps: the bits of the calls of their own, what stays after a failure, and what cannot be recorded.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { createAttention, quantizeWeight, toBfloat16, type Attention } from "headwise";
import { createAttention as createInWorker } from "headwise/worker";
import type { Recorder } from "../../web/src/step/recorder.js";
import type { StepTensor } from "../../web/src/step/stepTensor.js";
import { formula } from "headwise/formula";

import { bits as bitsOf, differences } from "./close.js";
import { variants } from "./engines.js";
import { randomTensor } from "./randomTensor.js";
import { expectedOf, operands, ROW_OPERATIONS, ROWS, WIDTH as ROW_WIDTH } from "./stepOperations.js";
import { expectAttention } from "./stepAttention.js";
import {
  Decoder,
  expectCachesAfterFailure,
  expectCalls,
  expectDisposals,
  expectRefusals,
  TOKENS,
  VOCABULARY,
  WIDTH,
} from "./stepDecoder.js";

/** The bytes of an array, to compare. */
const bits = (data: Float32Array) => bitsOf({ data });

describe.each(variants)("a step on %s", (variant) => {
  describe.each([1, 2, 4])("with %i threads", (threads) => {
    let hw: Attention;
    beforeAll(async () => {
      hw = await createAttention({ backend: "wasm", variant, threads });
    });
    afterAll(() => hw.dispose());

    test("attends without a layer with the bits of the calls, at the positions that each run gets", () =>
      expectAttention(hw));

    test("turns by rows of given tables", async () => {
      const angle = (f: (x: number) => number) => ({ data: Float32Array.from({ length: 44 }, (_, n) => f(n / 7)), shape: [11, 4] }); // oxfmt-ignore
      const tables = { cos: angle(Math.cos), sin: angle(Math.sin) };
      const step = await hw.record((recorder) => {
        const x = recorder.reshape(recorder.input("x", [3, 16]), [3, 2, 8]);
        return { y: recorder.rotary(x, { layout: "BSHD", ...tables, positions: recorder.numbers("at", 3) }) };
      });
      const x = randomTensor(60, [3, 16]);
      for (const positions of [
        [0, 1, 2],
        [10, 0, 10],
      ]) {
        const heads = { data: x.data, shape: [3, 2, 8] };
        const expected = await hw.rotaryEmbedding(heads, { layout: "BSHD", ...tables, positions });
        expect(bits((await step.run({ x, at: positions })).y.data)).toEqual(bits(expected.data));
      }
      await expect(step.run({ x, at: [0, 11, 0] })).rejects.toThrow(
        /^step\.run: inputs\.at\[1\] must be an integer from 0 to 10/,
      );
    });

    test("gives the largest of each row, and their softmax, with the bits of every number of threads", async () => {
      const one = await createAttention({ backend: "wasm", variant, threads: 1 });
      const build = (recorder: Recorder) => {
        const x = recorder.input("x", [5, 700]);
        const { values, indices } = recorder.topK(x, 9);
        const probs = recorder.softmax(x, { scale: 2 });
        const rows = recorder.rows(randomTensor(70, [700, 3]), indices);
        return { values, indices, probs, rows, few: recorder.softmax(values) };
      };
      const x = randomTensor(61, [5, 700]);
      x.data.fill(-Infinity, 700, 1400);
      x.data[1500] = NaN;
      x.data.fill(0.5, 2110, 2120);
      x.data[2111] = x.data[2115] = 99;
      const [step, same] = [await hw.record(build), await one.record(build)];
      const [result, expected] = [await step.run({ x }), await same.run({ x })];
      for (const name of ["values", "probs", "rows", "few"] as const)
        expect(bits(result[name].data)).toEqual(bits(expected[name].data));
      expect(result.indices).toEqual(expected.indices);
      expect(result.indices.data).toBeInstanceOf(Int32Array);
      expect(result.indices.shape).toEqual([5, 9]);
      for (let row = 0; row < 5; row++) {
        const numbers = Array.from(x.data.subarray(row * 700, (row + 1) * 700));
        const order = (value: number) => (Number.isNaN(value) ? Infinity : value);
        const columns = [...numbers.keys()].sort((a, b) => order(numbers[b]!) - order(numbers[a]!) || a - b);
        const largest = columns.slice(0, 9);
        expect(Array.from(result.indices.data.subarray(row * 9, row * 9 + 9))).toEqual(largest);
        expect(Array.from(result.values.data.subarray(row * 9, row * 9 + 9))).toEqual(largest.map((n) => numbers[n]!));
        const sum = numbers.reduce((total, value) => total + Math.exp(2 * value), 0);
        const probs = row === 1 ? numbers.map(() => 0) : numbers.map((value) => Math.exp(2 * value) / sum);
        if (row !== 3)
          probs.forEach((value, n) => {
            const computed = result.probs.data[row * 700 + n]!;
            if (Number.isNaN(value)) expect(computed).toBeNaN();
            else expect(Math.abs(computed - value)).toBeLessThanOrEqual(1e-5 * value);
          });
      }
      one.dispose();
    });

    test.each([
      ["a cache", {}],
      ["a ring", { ring: { window: 6, keepFirst: 2 } }],
      ["a cache of int8", { dtype: "int8" }],
    ] as const)("has the bits of its calls, with %s", (_, options) => expectCalls(hw, options));
  });

  describe("and its caches", () => {
    let hw: Attention;
    let decoder: Decoder;
    beforeEach(async () => {
      hw = await createAttention({ backend: "wasm", variant, threads: 2 });
      decoder = await Decoder.create(hw);
    });
    afterEach(() => hw.dispose());

    test("may be used, rewound and read between two runs", async () => {
      const step = await hw.record((recorder) => decoder.record(recorder));
      const first = await step.run({ token: [4] });
      await step.run({ token: [9] });
      for (const cache of decoder.caches) await cache.rewind(0);
      expect(bits((await step.run({ token: [4] })).logits.data)).toEqual(bits(first.logits.data));
      const x = randomTensor(9, [1, WIDTH]);
      await decoder.layers[0]!.forward(x, { cache: decoder.caches[0]!, causal: true });
      await step.run({ token: [2] });
      expect(decoder.caches.map(({ appended }) => appended[0])).toEqual([3, 2]);
    });

    test("are as before if an operation fails, and the step runs again once there is room", () =>
      expectCachesAfterFailure(hw, decoder));

    test("see the new weights of an updated layer", async () => {
      const step = await hw.record((recorder) => decoder.record(recorder));
      const before = await step.run({ token: [1] });
      for (const cache of decoder.caches) await cache.rewind(0);
      await decoder.layers[0]!.update({ Wq: randomTensor(77, [WIDTH, WIDTH]), Wv: randomTensor(78, [WIDTH, 12]) });
      const after = await step.run({ token: [1] });
      expect(bits(after.logits.data)).not.toEqual(bits(before.logits.data));
      for (const cache of decoder.caches) await cache.rewind(0);
      const expected = await decoder.compute(hw, 1, decoder.caches);
      expect(bits(after.logits.data)).toEqual(bits(expected.logits.data));
    });

    test("are not touched by what is refused, by name", () => expectRefusals(hw));

    test("must not be disposed, nor a layer, nor the step, nor the instance", () => expectDisposals(hw));

    test("may be disposed after a run was called, which has its turn first", async () => {
      const step = await hw.record((recorder) => decoder.record(recorder));
      const waiting = hw.linear(randomTensor(1, [40, WIDTH]), randomTensor(2, [WIDTH, WIDTH]));
      const run = step.run({ token: [1] });
      decoder.caches[0]!.dispose();
      decoder.layers[1]!.dispose();
      await waiting;
      expect((await run).logits.data.every(Number.isFinite)).toBe(true);
      await expect(step.run({ token: [1] })).rejects.toThrow(/^step\.run: .*disposed/);
    });

    test("must not go while a step is recorded, nor the memory of its weights", async () => {
      const [layer] = decoder.layers;
      const disposed = hw.record(async (recorder) => {
        const y = recorder.layer(layer!, recorder.input("x", [1, WIDTH]));
        await Promise.resolve();
        layer!.dispose();
        return { y };
      });
      await expect(disposed).rejects.toThrow("record: a layer of the step was disposed");
      const weight = randomTensor(2, [WIDTH, 3]);
      const detached = hw.record(async (recorder) => {
        const y = recorder.linear(recorder.input("x", [1, WIDTH]), weight);
        await Promise.resolve();
        structuredClone(weight.data.buffer, { transfer: [weight.data.buffer as ArrayBuffer] });
        return { y };
      });
      await expect(detached).rejects.toMatchObject({ name: "OptionError", code: "DETACHED_INPUT" });
    });

    test("runs wait for their turn, in order, and read floats when they run", async () => {
      const step = await hw.record((recorder) => decoder.record(recorder));
      const runs = [1, 2, 3].map((token) => step.run({ token: [token] }));
      const together = (await Promise.all(runs)).map(({ logits }) => bits(logits.data));
      for (const cache of decoder.caches) await cache.rewind(0);
      for (const [n, token] of [1, 2, 3].entries())
        expect(bits((await step.run({ token: [token] })).logits.data)).toEqual(together[n]);
      const doubled = await hw.record((recorder) => ({ y: recorder.scale(recorder.input("x", [2]), 2) }));
      const x = Float32Array.of(1, 2);
      const running = doubled.run({ x: { data: x, shape: [2] } });
      expect(Array.from((await running).y.data)).toEqual([2, 4]);
    });

    test("a signal that has aborted lets nothing be recorded, and one that aborts ends the wait for build", async () => {
      const [reason, build] = [new Error("enough"), jest.fn(() => ({}))];
      await expect(hw.record(build, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      expect(build).not.toHaveBeenCalled();
      const controller = new AbortController();
      const never = () => {
        controller.abort(reason);
        return new Promise<{ x: StepTensor }>(() => undefined);
      };
      await expect(hw.record(never, { signal: controller.signal })).rejects.toBe(reason);
    });

    test("a signal ends a run that waits, and an input whose memory was taken away is refused", async () => {
      const step = await hw.record((recorder) => ({ y: recorder.scale(recorder.input("x", [2]), 2) }));
      const reason = new Error("enough");
      await expect(step.run({ x: [1, 2] }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const data = Float32Array.of(1, 2);
      const first = step.run({ x: [1, 2] });
      const second = step.run({ x: { data, shape: [2] } });
      structuredClone(data, { transfer: [data.buffer] });
      await first;
      await expect(second).rejects.toThrow(/^step\.run: the memory of inputs\.x was transferred/);
      expect(Array.from((await step.run({ x: [1, 2] })).y.data)).toEqual([2, 4]);
    });

    test("an input is read once, also if its getter gives something else the next time", async () => {
      const step = await hw.record((recorder) => decoder.record(recorder));
      let reads = 0;
      const inputs = {
        get token() {
          return reads++ === 0 ? [1] : [VOCABULARY];
        },
      };
      const { logits } = await step.run(inputs);
      expect(reads).toBe(1);
      for (const cache of decoder.caches) await cache.rewind(0);
      expect(bits(logits.data)).toEqual(bits((await step.run({ token: [1] })).logits.data));
    });

    test("with positions of its own do not go with a step", async () => {
      const step = await hw.record((recorder) => decoder.record(recorder));
      const positions = Int32Array.of(7);
      await decoder.layers[0]!.forward(randomTensor(9, [1, WIDTH]), { cache: decoder.caches[0]!, positions });
      await expect(step.run({ token: [1] })).rejects.toThrow(/^step\.run: a cache whose tokens were given positions/);
    });
  });

  describe("and its operations", () => {
    let hw: Attention;
    beforeAll(async () => {
      hw = await createAttention({ backend: "wasm", variant, threads: 2 });
    });
    afterAll(() => hw.dispose());
    const x = randomTensor(30, [3, 37]);
    const gain = randomTensor(31, [37]);
    const bias = randomTensor(32, [37]);
    const of = async (
      build: (recorder: Recorder, given: ReturnType<Recorder["input"]>) => ReturnType<Recorder["input"]>,
    ) => {
      const step = await hw.record((recorder) => ({ y: build(recorder, recorder.input("x", [3, 37])) }));
      const { y } = await step.run({ x });
      step.dispose();
      return y;
    };
    test.each(ROW_OPERATIONS)("computes $name as double precision does", async (operation) => {
      const step = await hw.record((r) => ({ y: operation.build(r, r.input("x", [ROWS, ROW_WIDTH])) }));
      const { y } = await step.run({ x: operands() });
      step.dispose();
      expect(differences(y, expectedOf(operation, operands()))).toEqual([]);
    });

    test("columns and tokens are parts, also in operations that want them side by side", async () => {
      const columns = x.data.filter((_, i) => i % 37 >= 5 && i % 37 < 12);
      const part = await of((r, given) => r.columns(given, 5, 12));
      expect(part.shape).toEqual([3, 7]);
      expect(bits(part.data)).toEqual(bits(columns));
      const weight = randomTensor(34, [7, 11]);
      const product = await of((r, given) => r.linear(r.columns(given, 5, 12), weight));
      expect(bits(product.data)).toEqual(bits((await hw.linear({ data: columns, shape: [3, 7] }, weight)).data));
      const last = await of((r, given) => r.columns(r.tokens(given, 1, 3), 36, 37));
      expect(bits(last.data)).toEqual(bits(Float32Array.of(x.data[73]!, x.data[110]!)));
    });

    test("tables and weights may be of every dtype, and in tensors of allocate", async () => {
      const table = randomTensor(35, [VOCABULARY, 37]);
      const own = hw.allocate([VOCABULARY, 37]);
      own.data.set(table.data);
      const brains = { data: toBfloat16(table.data), shape: table.shape, dtype: "bfloat16" as const };
      const quantized = quantizeWeight(table, { weightLayout: "out-in" });
      for (const weight of [table, own, brains, quantized]) {
        const step = await hw.record((recorder) => {
          const rows = recorder.rows(weight, recorder.numbers("rows", 2), { scale: 3 });
          return { rows, y: recorder.linear(rows, weight, undefined, { weightLayout: "out-in" }) };
        });
        const { rows, y } = await step.run({ rows: Int32Array.of(29, 4) });
        step.dispose();
        const expected = await hw.linear(rows, weight, undefined, { weightLayout: "out-in" });
        expect(bits(y.data)).toEqual(bits(expected.data));
        const worst = weight === quantized ? 0.02 : weight === brains ? 2 ** -8 : 0;
        for (let i = 0; i < 37; i++)
          expect(Math.abs(rows.data[i]! / 3 - table.data[29 * 37 + i]!)).toBeLessThanOrEqual(worst + 1e-6);
      }
    });

    test("a weight that is disposed is kept until the step is", async () => {
      const weight = hw.allocate([37, 3]);
      weight.data.set(randomTensor(36, [37, 3]).data);
      const expected = await hw.linear(x, weight);
      const step = await hw.record((recorder) => ({ y: recorder.linear(recorder.input("x", [3, 37]), weight) }));
      weight.dispose();
      const others = Array.from({ length: 4 }, () => hw.allocate([37, 3])); // would take its place
      for (const other of others) other.data.fill(NaN);
      expect(bits((await step.run({ x })).y.data)).toEqual(bits(expected.data));
      step.dispose();
      for (const other of others) other.dispose();
      await expect(hw.linear(x, weight)).rejects.toThrow(/disposed/);
    });

    test("a weight that is disposed before the step is made is refused", async () => {
      const weight = hw.allocate([37, 3]);
      const recording = hw.record((recorder) => {
        const y = recorder.linear(recorder.input("x", [3, 37]), weight);
        weight.dispose();
        return { y };
      });
      await expect(recording).rejects.toThrow("record: a tensor of the step was disposed");
    });

    test("a layer has its own options: a formula, a window, a bias without a cache", async () => {
      const weights = { Wq: randomTensor(40, [37, 8]), Wk: randomTensor(41, [37, 8]), Wv: randomTensor(42, [37, 8]), Wo: randomTensor(43, [8, 37]) }; // oxfmt-ignore
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
      for (const options of [
        { causal: true, softcap: 2, scale: 0.5 },
        { score: formula("s - 0.1 * abs(q - k)") },
        { bias: randomTensor(44, [1, 1, 3, 3]), headGain: [1, 0.5] },
      ]) {
        const y = await of((r, given) => r.layer(layer, given, options));
        expect(bits(y.data)).toEqual(bits((await layer.forward(x, options)).output.data));
      }
    });

    test("a weight is read once, also if its getters give something else the next time", async () => {
      const { data } = randomTensor(37, [37, 5]);
      let reads = 0;
      const weight = {
        data,
        get shape() {
          return reads++ === 0 ? [37, 5] : [5, 37];
        },
      };
      const y = await of((r, given) => r.linear(given, weight));
      expect([reads, y.shape]).toEqual([1, [3, 5]]);
    });

    test("a tensor keeps its shape, and a result any name", async () => {
      const step = await hw.record((recorder) => {
        const given = recorder.input("x", [2, 2]);
        for (const { shape } of [given, recorder.topK(given, 1).indices])
          expect(() => ((shape as number[])[0] = 1000)).toThrow(TypeError);
        return { ["__proto__"]: recorder.scale(given, 2) };
      });
      const results = await step.run({ x: Float32Array.of(1, 2, 3, 4) });
      expect(Object.getOwnPropertyDescriptor(results, "__proto__")!.value).toMatchObject({ shape: [2, 2] });
    });

    test("what cannot be recorded is refused by name, and nothing stays", async () => {
      const weights = { Wq: randomTensor(40, [37, 8]), Wk: randomTensor(41, [37, 8]), Wv: randomTensor(42, [37, 8]), Wo: randomTensor(43, [8, 37]) }; // oxfmt-ignore
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
      const cache = await layer.kvCache();
      let kept: Recorder | undefined;
      let foreign: ReturnType<Recorder["input"]> | undefined;
      await hw.record((recorder) => {
        kept = recorder;
        return { y: (foreign = recorder.scale(recorder.input("x", [3, 37]), 1)) };
      });
      type Build = (r: Recorder, x: ReturnType<Recorder["input"]>) => unknown;
      const refused: readonly [Build, RegExp][] = [
        [() => undefined, /^record: outputs must be an object/],
        [() => ({}), /^record: build must return at least one output by name/],
        [() => ({ y: x }), /^record: outputs\.y must be a tensor of this step/],
        [() => ({ y: foreign }), /^record: outputs\.y must be a tensor of this step, got one of another step/],
        [(r) => ({ y: r.scale(foreign!, 2) }), /^recorder\.scale: x must be a tensor of this step, got one of another/],
        [
          (r, given) => ({ y: r.add(given, randomTensor(1, [3, 36])) }),
          /^recorder\.add: b\.shape must be \[3, 37\] or \[37\], got \[3, 36\]/,
        ],
        [
          (r, given) => ({ y: r.rmsNorm(given, randomTensor(1, [36])) }),
          /^recorder\.rmsNorm: gain\.shape must be \[37\], got \[36\]/,
        ],
        [(r, given) => ({ y: r.rmsNorm(given, gain, { epsilon: -1 }) }), /^recorder\.rmsNorm: epsilon must be/],
        [
          (r, given) => ({ y: r.rmsNorm(given, gain, { eps: 1 } as never) }),
          /^recorder\.rmsNorm: unknown option "eps"/,
        ],
        [
          (r, given) => ({ y: r.activation(given, "swish" as never) }),
          /^recorder\.activation: name must be one of gelu, geluTanh, quickGelu, silu, relu, tanh, got "swish"/,
        ],
        [
          (r) => ({ y: r.activation(undefined as never, "relu", r.input("z", [3, 37])) }),
          /^recorder\.activation: x must be a tensor of this step, got undefined/,
        ],
        [(r, given) => ({ y: r.activation(given, "relu", null as never) }), /^recorder\.activation: times must be/],
        [
          (r) => ({ y: r.add(undefined as never, bias) }),
          /^recorder\.add: a must be a tensor of this step, got undefined/,
        ],
        [
          (r, given) => ({ y: r.layer(Object.create(Object.getPrototypeOf(layer) as object) as never, given) }),
          /^recorder\.layer: layer must be a layer of this instance/,
        ],
        [
          (r, given) => ({ y: r.linear(given, randomTensor(1, [36, 2])) }),
          /^recorder\.linear: x\.shape\[1\] must be weight\.shape\[0\]/,
        ],
        ...[0, 38, 1.5].map((k): [Build, RegExp] => [
          (r, given) => ({ y: r.topK(given, k).values }),
          new RegExp(`^recorder\\.topK: k must be an integer from 1 to 37, got ${k}`),
        ]),
        [(r, given) => ({ y: r.softmax(given, { scale: Infinity }) }), /^recorder\.softmax: scale must be/],
        [(r, given) => ({ y: r.softmax(given, { axis: 1 } as never) }), /^recorder\.softmax: unknown option "axis"/],
        [
          (r, given) => ({ y: r.rows(randomTensor(1, [36, 2]), r.topK(given, 2).indices) }),
          /^recorder\.rows: numbers must be below the 36 rows of the table, and the step may compute 36/,
        ],
        [
          (r, given) => ({ y: r.reshape(given, [3, 36]) }),
          /^recorder\.reshape: shape must hold the 111 numbers of x, of shape \[3, 37\], got \[3, 36\]/,
        ],
        [
          (r) => ({ y: r.rotary(r.input("z", [3, 8]), { positions: r.numbers("at", 2) }) }),
          /^recorder\.rotary: positions must have a number for each token \(3\), got 2/,
        ],
        [
          (r) => ({ y: r.rotary(r.input("z", [3, 8]), { into: randomTensor(1, [3, 8]) } as never) }),
          /^recorder\.rotary: into must be absent in a step/,
        ],
        ...(["returns", "into", "signal", "dropout", "positions", "cuSeqLensQuery"] as const).map(
          (name): [Build, RegExp] => [
            (r, given) => ({ y: r.attention(given, given, given, { [name]: {} }) }),
            new RegExp(`^recorder\\.attention: ${name} must be absent in a step`),
          ],
        ),
        [
          (r, given) => ({ y: r.attention(given, given, x as never) }),
          /^recorder\.attention: value must be a tensor of this step/,
        ],
        [(r, given) => ({ y: r.columns(given, 5, 38) }), /^recorder\.columns: from and to must be/],
        [(r, given) => ({ y: r.scale(given, NaN) }), /^recorder\.scale: factor must be a finite number/],
        [(r, given) => ({ y: r.softcap(given, 0) }), /^recorder\.softcap: cap must be/],
        [
          (r) => ({ y: r.input("x", [3]) }),
          /^recorder\.input: name must be one that the step does not have yet, got "x"/,
        ],
        [(r) => ({ y: r.rows(x, [1] as never) }), /^recorder\.rows: numbers must be numbers of this step/],
        [
          (r, given) => ({ y: r.layer({} as never, given) }),
          /^recorder\.layer: layer must be a layer of this instance/,
        ],
        ...(["returns", "patch", "into", "signal", "dropout", "positions", "save"] as const).map(
          (name): [Build, RegExp] => [
            (r, given) => ({ y: r.layer(layer, given, { [name]: {} }) }),
            new RegExp(`^recorder\\.layer: ${name} must be absent in a step`),
          ],
        ),
        ...(["mask", "bias", "keyLengths", "queryOffset"] as const).map((name): [Build, RegExp] => [
          (r, given) => ({ y: r.layer(layer, given, { cache, [name]: [1] }) }),
          new RegExp(`^recorder\\.layer: ${name} must be absent in a step: the cache has more keys`),
        ]),
        [
          (r, given) => ({ y: r.layer(layer, given, { emptyRows: "throw" }) }),
          /^recorder\.layer: emptyRows must not be "throw"/,
        ],
        [
          (r, given) => ({ y: r.layer(layer, given, { causl: true } as never) }),
          /^recorder\.layer: unknown option "causl"/,
        ],
        [() => { throw new RangeError("mine"); }, /^mine$/], // oxfmt-ignore
      ];
      for (const [build, message] of refused)
        await expect(hw.record((recorder) => build(recorder, recorder.input("x", [3, 37])) as never)).rejects.toThrow(message); // oxfmt-ignore
      const signal = AbortSignal.abort();
      await expect(
        hw.record((recorder) => ({ y: recorder.layer(layer, recorder.input("x", [3, 37]), { signal } as never) })),
      ).rejects.toMatchObject({ hint: expect.stringContaining("Call step.run with it.") });
      expect(() => kept!.scale(foreign!, 2)).toThrow("recorder.scale: the step was recorded");
      await expect(hw.record(7 as never)).rejects.toThrow("record: build must be a function that records, got 7");
      await expect(hw.record(class {} as never)).rejects.toThrow("record: build must be a function that records, got");
      expect(cache.appended).toEqual([0]);
    });
  });
});

test("a step with no room for its tensors is refused, and its memory is given back", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 32 * 2 ** 20 });
  const build = (rows: number) => (recorder: Recorder) => {
    let y = recorder.input("x", [rows, 1024]);
    for (let n = 0; n < 6; n++) y = recorder.scale(y, 1);
    return { y };
  };
  for (let round = 0; round < 5; round++) {
    await expect(hw.record(build(4096))).rejects.toThrow(/does not fit/);
    const step = await hw.record(build(256));
    const { y } = await step.run({ x: randomTensor(1, [256, 1024]) });
    expect(y.shape).toEqual([256, 1024]);
    step.dispose();
  }
  hw.dispose();
});

test("a step in a worker has the same bits, and news of its caches come with each run", async () => {
  const hw = await createInWorker({ backend: "wasm", threads: 2 });
  const here = await createAttention({ backend: "wasm", threads: 1 });
  const decoder = await Decoder.create(hw);
  const same = await Decoder.create(here);
  const step = await hw.record((recorder) => decoder.record(recorder));
  for (const [n, token] of TOKENS.entries()) {
    const { x, logits } = await step.run({ token: [token] });
    const expected = await same.compute(here, token, same.caches);
    expect(bits(x.data)).toEqual(bits(expected.x.data));
    expect(bits(logits.data)).toEqual(bits(expected.logits.data));
    expect(decoder.caches.map(({ appended }) => appended)).toEqual([[n + 1], [n + 1]]);
  }
  expect(step.bytes).toBeGreaterThan(0);
  await expectRefusals(hw);
  await decoder.layers[0]!.forward(randomTensor(9, [1, WIDTH]), { cache: decoder.caches[0]! });
  expect(decoder.caches[0]!.length).toBe(TOKENS.length + 1);
  step.dispose();
  await expect(step.run({ token: [1] })).rejects.toThrow("step.run: the step was disposed");
  const [first, second] = decoder.layers;
  decoder.caches = [await first!.kvCache(), await second!.kvCache({ capacity: 1 })];
  const full = await hw.record((recorder) => decoder.record(recorder));
  await full.run({ token: [1] });
  await expect(full.run({ token: [1] })).rejects.toThrow("batch 0 holds 1 of at most 1 tokens");
  expect(decoder.caches.map(({ appended }) => appended[0])).toEqual([1, 1]);
  hw.dispose();
  await expect(full.run({ token: [1] })).rejects.toThrow(/the instance was disposed/);
  here.dispose();
});

test("attention, positions and numbers of a step in a worker have the bits of the calls", async () => {
  const hw = await createInWorker({ backend: "wasm", threads: 2 });
  const score = formula("s - 0.1 * abs(q - k)");
  const step = await hw.record((recorder) => {
    const x = recorder.input("x", [2, 4, 8]);
    const q = recorder.rotary(x, { positions: recorder.numbers("at", 4) });
    const y = recorder.attention(q, x, x, { causal: true, score });
    return { y, top: recorder.topK(y, 3).indices };
  });
  const x = randomTensor(5, [2, 4, 8]);
  for (const first of [0, 9]) {
    const positions = [0, 1, 2, 3].map((n) => first + n);
    const q = await hw.rotaryEmbedding(x, { positions });
    const { output } = await hw.scaledDotProductAttention(q, x, x, { causal: true, score });
    const { y, top } = await step.run({ x, at: positions });
    expect(bits(y.data)).toEqual(bits(output.data));
    expect([top.dtype, top.shape, top.data.length]).toEqual(["int32", [2, 4, 3], 24]);
  }
  hw.dispose();
});

test("a formula in a step of a worker is the one of the call", async () => {
  const hw = await createInWorker({ backend: "wasm", threads: 1 });
  const weight = (seed: number) => randomTensor(seed, [8, 8]);
  const weights = { Wq: weight(1), Wk: weight(2), Wv: weight(3), Wo: weight(4) };
  const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
  const x = randomTensor(5, [6, 8]);
  const options = {
    score: formula("s - 0.5 * abs(q - k)"),
    visible: formula("k <= q"),
    bias: randomTensor(6, [1, 1, 6, 6]),
  };
  const step = await hw.record((recorder) => ({ y: recorder.layer(layer, recorder.input("x", [6, 8]), options) }));
  const { y } = await step.run({ x });
  expect(bits(y.data)).toEqual(bits((await layer.forward(x, options)).output.data));
  hw.dispose();
});

test("backend auto records layers and caches that stay on wasm", async () => {
  const hw = await createAttention({ backend: "auto", threads: 1 });
  const decoder = await Decoder.create(hw);
  const step = await hw.record((recorder) => decoder.record(recorder));
  expect((await step.run({ token: [1] })).logits.shape).toEqual([1, VOCABULARY]);
  hw.dispose();
});
