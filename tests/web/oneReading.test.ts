// Arguments are read once, when the call is made. If their memory is gone when it is the call's turn, that call fails.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention, type AttentionOptions, type HeadwiseError } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { bits } from "./close.js";
import { detach, resizable } from "./hostileArguments.js";
import { randomTensor } from "./randomTensor.js";

const rejection = (call: Promise<unknown>): Promise<HeadwiseError> =>
  call.then(
    () => {
      throw new Error("it ended well");
    },
    (error: HeadwiseError) => error,
  );

type Call = () => { readonly call: Promise<unknown>; readonly data: Float32Array | Uint8Array };

const heads = (seed: number) => randomTensor(seed, [1, 2, 6, 4]);

/** Works while Object.prototype has properties of these names, which cannot be written. */
async function withPrototype(names: readonly string[], work: () => Promise<void>): Promise<void> {
  for (const name of names)
    Object.defineProperty(Object.prototype, name, { value: true, configurable: true, enumerable: true });
  try {
    await work();
  } finally {
    for (const name of names) Reflect.deleteProperty(Object.prototype, name);
  }
}
type Heads = ReturnType<typeof heads>;
const ENTRIES = [
  ["headwise", () => createAttention({ backend: "wasm", variant: "simd", threads: 1 })],
  ["headwise/worker", () => createInWorker({ backend: "wasm", variant: "simd", threads: 1 })],
  ["headwise/inline", () => createInline()],
] as const;

describe.each(ENTRIES)("%s", (_, create) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
  });
  afterAll(() => hw.dispose());

  /** Makes a call while another one runs, and then detaches the memory of its argument. */
  async function whileItWaits(make: Call) {
    const before = hw.scaledDotProductAttention(heads(1), heads(2), heads(3));
    const { call, data } = make();
    detach(data);
    const error = await rejection(call);
    await before;
    return error;
  }

  const layerOptions = () => {
    const square = (seed: number) => randomTensor(seed, [8, 8]);
    return {
      inputDim: 8,
      numHeads: 2,
      weights: { Wq: square(1), Wk: square(2), Wv: square(3), Wo: square(4) },
    };
  };

  /** The calls under test. A function that has to prepare something first returns a promise of its call. */
  const CALLS: Record<string, () => Call | Promise<Call>> = {
    scaledDotProductAttention: () => () => {
      const key = heads(2);
      return { call: hw.scaledDotProductAttention(heads(1), key, heads(3)), data: key.data };
    },
    "scaledDotProductAttention's mask": () => () => {
      const mask = { data: new Uint8Array(36).fill(1), shape: [6, 6] };
      return { call: hw.scaledDotProductAttention(heads(1), heads(2), heads(3), { mask }), data: mask.data };
    },
    "scaledDotProductAttention's into": () => () => {
      const into = heads(2);
      return { call: hw.scaledDotProductAttention(heads(1), heads(2), heads(3), { into }), data: into.data };
    },
    attentionBackward: () => () => {
      const [query, key, value, output, dOutput] = [1, 2, 3, 4, 5].map(heads) as [Heads, Heads, Heads, Heads, Heads];
      const lse = randomTensor(6, [1, 2, 6]);
      return { call: hw.attentionBackward({ query, key, value, output, dOutput, lse }), data: lse.data };
    },
    rotaryEmbedding: () => () => {
      const x = heads(1);
      return { call: hw.rotaryEmbedding(x), data: x.data };
    },
    mergeAttention: () => () => {
      const [output, lse] = [heads(1), randomTensor(2, [1, 2, 6])];
      return { call: hw.mergeAttention([{ output, lse }]), data: lse.data };
    },
    multiHeadAttention: () => () => {
      const options = layerOptions();
      return { call: hw.multiHeadAttention(options), data: options.weights.Wv.data };
    },
    "layer.forward": async () => {
      const layer = await hw.multiHeadAttention(layerOptions());
      return () => {
        const x = randomTensor(5, [1, 6, 8]);
        return { call: layer.forward(x), data: x.data };
      };
    },
    "layer.forward's patch": async () => {
      const layer = await hw.multiHeadAttention(layerOptions());
      return () => {
        const patch = { headOutputs: heads(6) };
        return { call: layer.forward(randomTensor(5, [1, 6, 8]), { patch }), data: patch.headOutputs.data };
      };
    },
    "cache.append": async () => {
      const cache = await hw.kvCache({ numKvHeads: 2, headDim: 4 });
      return () => {
        const value = heads(2);
        return { call: cache.append(heads(1), value), data: value.data };
      };
    },
    "cache.attend": async () => {
      const cache = await hw.kvCache({ numKvHeads: 2, headDim: 4 });
      await cache.append(heads(1), heads(2));
      return () => {
        const query = heads(3);
        return { call: cache.attend(query), data: query.data };
      };
    },
    "cache.attend's patch": async () => {
      const cache = await hw.kvCache({ numKvHeads: 2, headDim: 4 });
      await cache.append(heads(1), heads(2));
      return () => {
        const patch = { headOutputs: heads(6) };
        return { call: cache.attend(heads(3), { patch }), data: patch.headOutputs.data };
      };
    },
    "kvCache' of saved bytes": async () => {
      const cache = await hw.kvCache({ numKvHeads: 2, headDim: 4 });
      await cache.append(heads(1), heads(2));
      const bytes = await cache.save();
      return () => ({ call: hw.kvCache({ from: bytes }), data: bytes });
    },
  };

  test.each(Object.keys(CALLS))("%s: an array that is transferred away while the call waits", async (name) => {
    const expected = bits(await hw.scaledDotProductAttention(heads(1), heads(2), heads(3)));
    const error = await whileItWaits(await CALLS[name]!());
    expect(error).toMatchObject({ name: "OptionError", code: "DETACHED_INPUT" });
    expect(error.message).toMatch(new RegExp(`^${name.split("'")[0]!}: the memory of .* was transferred`));
    expect(bits(await hw.scaledDotProductAttention(heads(1), heads(2), heads(3)))).toEqual(expected);
  });

  test("an array that is detached already is refused, and is no empty tensor", async () => {
    const key = heads(2);
    detach(key.data);
    const error = await rejection(hw.scaledDotProductAttention(heads(1), key, heads(3)));
    expect(error.code).toBe("DETACHED_INPUT");
    const empty = { data: new Float32Array(4), shape: [1, 1, 0, 4] };
    detach(empty.data);
    expect((await rejection(hw.scaledDotProductAttention(heads(1), empty, empty))).code).toBe("DETACHED_INPUT");
  });

  test("a buffer that shrinks while the call waits", async () => {
    const { data, shape } = heads(2);
    const buffer = resizable(data.byteLength, data.byteLength);
    const key = { data: new Float32Array(buffer), shape };
    key.data.set(data);
    const before = hw.scaledDotProductAttention(heads(1), heads(2), heads(3));
    const call = hw.scaledDotProductAttention(heads(1), key, heads(3));
    buffer.resize(16);
    expect((await rejection(call)).code).toBe("DETACHED_INPUT");
    await before;
  });

  test("an `into` that grows while the call waits gets its own numbers and no more", async () => {
    const { data, shape } = heads(2);
    const buffer = resizable(data.byteLength, 8192);
    const into = { data: new Float32Array(buffer), shape };
    const before = hw.scaledDotProductAttention(heads(1), heads(2), heads(3));
    const call = hw.scaledDotProductAttention(heads(1), heads(2), heads(3), { into });
    buffer.resize(8192);
    const [{ output: expected }, { output }] = await Promise.all([before, call]);
    expect(output).toBe(into);
    expect(Array.from(into.data.subarray(0, data.length))).toEqual(Array.from(expected.data));
    expect(new Set(into.data.subarray(data.length))).toEqual(new Set([0]));
  });

  test("an array's own length and a shape's accessor read nothing beyond the array", async () => {
    const key = heads(2);
    Object.defineProperty(key.data, "length", { value: key.data.length + 4096 });
    const expected = bits(await hw.scaledDotProductAttention(heads(1), heads(2), heads(3)));
    expect(bits(await hw.scaledDotProductAttention(heads(1), key, heads(3)))).toEqual(expected);
    let reads = 0;
    const shape = [1, 2, 6, 4];
    Object.defineProperty(shape, 2, { get: () => (reads++ === 0 ? 6 : 1030) });
    const x = { ...heads(1), shape };
    expect(bits(await hw.scaledDotProductAttention(x, heads(2), heads(3)))).toEqual(expected);
    expect(reads).toBe(1);
  });

  test("holes in a shape are refused", async () => {
    // oxlint-disable-next-line no-sparse-arrays
    const shape = [1, , 2] as unknown as number[];
    const error = await rejection(
      hw.scaledDotProductAttention({ data: new Float32Array(2), shape }, heads(2), heads(3)),
    );
    expect(error.message).toBe(
      "scaledDotProductAttention: query.shape[1] must be an integer from 0 to 2147483647, got undefined",
    );
    expect(() => hw.allocate(shape)).toThrow(/allocate: tensor\.shape\[1\] must be an integer/);
  });

  test("options and shapes that change after the call do not change it", async () => {
    const options = { causal: true, keyLengths: [4], queryLengths: [5], returns: { lse: true } };
    const x = heads(1);
    const before = hw.scaledDotProductAttention(heads(1), heads(2), heads(3), options);
    const call = hw.scaledDotProductAttention(x, heads(2), heads(3), options);
    (x.shape as number[])[2] = 3;
    Object.assign(options, { causal: false, scale: 7 });
    options.keyLengths[0] = 1;
    expect(bits(await call)).toEqual(bits(await before));
  });

  test.each<[string, unknown, RegExp]>([
    ["a Map", new Map([["causal", true]]), /options must be an object, got a Map/],
    ["a Date", new Date(0), /options must be an object, got a Date/],
    ["a Promise", Promise.resolve({}), /options must be an object, got a Promise/],
    ["null", null, /options must be an object, got null/],
    ["an object that inherits a misspelt option", Object.create({ causual: true }), /unknown option "causual"/],
    ["a mask of {}", { mask: {} }, /mask must be a tensor \{ data, shape \}, got an empty object/],
  ])("options that are %s are refused", async (__, options, message) => {
    const call = hw.scaledDotProductAttention(heads(1), heads(2), heads(3), options as AttentionOptions);
    expect((await rejection(call)).message).toMatch(message);
  });

  test("inherited options count, except those of Object.prototype", async () => {
    const causal = bits(await hw.scaledDotProductAttention(heads(1), heads(2), heads(3), { causal: true }));
    const inherited = Object.create({ causal: true }) as AttentionOptions;
    expect(bits(await hw.scaledDotProductAttention(heads(1), heads(2), heads(3), inherited))).toEqual(causal);
    class Settings {
      get causal() {
        return true;
      }
    }
    expect(bits(await hw.scaledDotProductAttention(heads(1), heads(2), heads(3), new Settings()))).toEqual(causal);
    const plain = bits(await hw.scaledDotProductAttention(heads(1), heads(2), heads(3), {}));
    await withPrototype(["causal"], async () => {
      expect(bits(await hw.scaledDotProductAttention(heads(1), heads(2), heads(3), {}))).toEqual(plain);
    });
  });

  test("names on Object.prototype, which an assignment could not hide, change no layer and no cache", async () => {
    const weight = { data: Float32Array.from({ length: 16 }, (_, n) => Math.sin(n)), shape: [4, 4] };
    const compute = async () => {
      const weights = { Wq: weight, Wk: weight, Wv: weight, Wo: weight };
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights, position: { kind: "rotary" } });
      const cache = await layer.kvCache();
      const inLayer = await layer.forward(weight, { cache, causal: true, window: { left: 2 } });
      const own = await hw.kvCache({ numKvHeads: 2, headDim: 2, rotary: {} });
      const x = { data: weight.data, shape: [1, 2, 4, 2] };
      const inCache = await own.step(x, x, x, {});
      for (const each of [layer, cache, own]) each.dispose();
      return [bits(inLayer), bits(inCache)];
    };
    const plain = await compute();
    await withPrototype(
      ["causal", "bias", "rotary", "position", "base", "qkNorm", "epsilon", "interleaved"],
      async () => expect(await compute()).toEqual(plain),
    );
  });

  test("a list that holds itself is described, and soon", async () => {
    const list: unknown[] = [];
    list.push(list, list, list, list, list, list, list, list);
    const error = await rejection(hw.scaledDotProductAttention(heads(1), heads(2), heads(3), { scale: list } as never));
    expect(error.message).toMatch(/scale must be a finite number, got \[\[an array of 8, /);
  });

  test("what an accessor throws is the cause of a typed error", async () => {
    const options = {
      get causal(): boolean {
        throw new RangeError("not yours");
      },
    };
    const error = await rejection(hw.scaledDotProductAttention(heads(1), heads(2), heads(3), options));
    expect(error).toMatchObject({ name: "OptionError", cause: new RangeError("not yours") });
    expect(error.message).toBe("scaledDotProductAttention: options could not be read: not yours");
  });
});

describe("a tensor inside the engine", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
  });
  afterAll(() => hw.dispose());
  const SHAPE = [1, 1, 4, 4];
  const plain = (value: number) => ({ data: new Float32Array(16).fill(value), shape: SHAPE });

  test("that is disposed while calls wait for it keeps its numbers until they have run", async () => {
    const value = hw.allocate(SHAPE);
    value.data.fill(3);
    const before = hw.scaledDotProductAttention(plain(1), plain(1), plain(1));
    const call = hw.scaledDotProductAttention(plain(1), plain(1), value);
    value.dispose();
    const others = Array.from({ length: 8 }, () => hw.allocate(SHAPE));
    others.forEach(({ data }) => data.fill(7));
    expect(new Set((await call).output.data)).toEqual(new Set([3]));
    await before;
    others.forEach((other) => other.dispose());
  });

  test("leaves an array that is refused after dispose(), also when another tensor lies there", async () => {
    const first = hw.allocate(SHAPE);
    const { data } = first;
    first.dispose();
    const second = hw.allocate(SHAPE);
    expect(second.data.byteOffset).toBe(data.byteOffset); // it has the memory of the disposed tensor
    const error = await rejection(hw.scaledDotProductAttention({ data, shape: SHAPE }, plain(1), plain(1)));
    expect(error).toMatchObject({ name: "DisposedError", message: expect.stringContaining("query lies in a tensor") });
    second.dispose();
  });

  test("cannot be the `into` of a merge that reads it", async () => {
    const shared = hw.allocate(SHAPE);
    shared.data.fill(2);
    const lse = { data: new Float32Array(4), shape: [1, 1, 4] };
    const parts = [
      { output: plain(1), lse },
      { output: shared, lse },
    ];
    const error = await rejection(hw.mergeAttention(parts, { into: shared }));
    expect(error.message).toBe(
      "mergeAttention: into must not overlap parts[1].output, which lies in the same engine tensor",
    );
    shared.dispose();
  });
});

test("a tensor inside headwise/inline is read and written where it lies when memory grows for the same call", async () => {
  const hw = await createInline({ maximumMemory: 256 * 2 ** 20 });
  const [value, into] = [hw.allocate([600_000, 8]), hw.allocate([1, 8])];
  value.data.fill(3);
  const key = { data: new Float32Array(4_800_000), shape: [600_000, 8] };
  const { output } = await hw.scaledDotProductAttention({ data: new Float32Array(8), shape: [1, 8] }, key, value, {
    into,
  });
  expect(output).toBe(into);
  into.data.forEach((x) => expect(x).toBeCloseTo(3, 4));
  hw.dispose();
});
