import { readdir, readFile } from "node:fs/promises";

import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { createAttention, HeadwiseError, ShapeError, type Attention, type FloatTensor } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { AttentionHeads, AttentionMap } from "headwise/viz";
import { createAttention as createInWorker } from "headwise/worker";
import { createAttention as createOnGpu } from "headwise/webgpu";

import { attentionCases } from "./cases.js";
import { bits } from "./close.js";

const { sin } = Math; // looked up once: a test runner's sandbox is slow to find globals

const floats = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => sin(k + 1)),
  shape,
});

let main: Attention;
beforeAll(async () => {
  main = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => main.dispose());

const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => "it ended well",
    (error: unknown) => {
      const { name, code, message, hint } = error as HeadwiseError;
      return { isOurs: HeadwiseError.is(error), name, code, message, hint };
    },
  );

/** Calls of every kind. `bits` can compare their results. */
const PROGRAMS: Record<string, (hw: Attention) => Promise<object>> = {
  async "a cache, its forks, slices and bytes"(hw) {
    const x = floats(1, 2, 9, 8);
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8, dtype: "float16", rotary: { rotaryDim: 4 } });
    await cache.append(x, x);
    const fork = await cache.fork();
    await fork.rewind(3);
    await fork.append(floats(1, 2, 1, 8), floats(1, 2, 1, 8));
    const slice = await cache.slice(2, 6);
    const loaded = await hw.kvCache({ from: await fork.save() });
    const lengths = [cache, fork, slice, loaded].map(({ length, bytes, appended }) => ({ length, bytes, appended }));
    const results = [];
    for (const each of [cache, fork, slice, loaded])
      results.push(await each.attend(floats(1, 4, 1, 8), { causal: true, returns: { lse: true, topK: 2 } }));
    [cache, fork, slice, loaded].forEach((each) => each.dispose());
    return { lengths: JSON.stringify(lengths), results: bits({ ...results }) };
  },

  async "a layer with a cache"(hw) {
    const square = (n: number) => floats(n, n);
    const layer = await hw.multiHeadAttention({
      inputDim: 8,
      modelDim: 8,
      numHeads: 2,
      bias: false,
      weights: { Wq: square(8), Wk: square(8), Wv: square(8), Wo: square(8) },
    });
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 4 });
    const first = await layer.forward(floats(1, 5, 8), { cache, causal: true, returns: { probs: true } });
    const second = await layer.forward(floats(1, 1, 8), { cache, causal: true });
    return { length: cache.length, bytes: layer.bytes, first, second };
  },

  async "rotary embedding and merging"(hw) {
    const x = floats(2, 6, 8);
    const part = await hw.scaledDotProductAttention(x, x, x, { returns: { lse: true } });
    return {
      turned: await hw.rotaryEmbedding(x, { positions: 3, layout: "BSHD" }),
      merged: await hw.mergeAttention([part, part].map(({ output, lse }) => ({ output, lse: lse }))),
    };
  },

  async "an output written into a tensor of the caller's, float16 and rank 2"(hw) {
    const into = floats(5, 4);
    const result = await hw.scaledDotProductAttention(floats(5, 4), floats(7, 4), floats(7, 4), { into });
    const half = { data: new Uint16Array(20).fill(0x3c00), shape: [5, 4] };
    const halves = await hw.scaledDotProductAttention(half, half, half, { returns: { lse: true, entropy: true } });
    return { isInto: Object.is(result.output, into), into, halves };
  },

  async "warming up"(hw) {
    await hw.warmup({ numHeads: 2, queryLength: 3, headDim: 4 });
    return {};
  },
};

describe.each([
  ["headwise/worker", createInWorker],
  ["headwise/inline", createInline],
])("%s computes what headwise computes, bit for bit:", (_, create) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create({ variant: "simd", threads: 1 });
  });
  afterAll(() => hw.dispose());

  test("the case table", async () => {
    for (const { name, query, key, value, options } of attentionCases()) {
      const [result, expected] = await Promise.all(
        [hw, main].map((each) => each.scaledDotProductAttention(query, key, value, options)),
      );
      expect({ name, ...bits(result!) }).toEqual({ name, ...bits(expected!) });
    }
  });

  test.each(Object.entries(PROGRAMS))("%s", async (__, program) => {
    expect(bits(await program(hw))).toEqual(bits(await program(main)));
  });

  test("errors, before and while it computes, with class, code, message and hint", async () => {
    const x = floats(1, 2, 3, 4);
    const calls: readonly ((hw: Attention) => Promise<unknown>)[] = [
      (each) => each.scaledDotProductAttention(x, floats(1, 2, 3, 5), x),
      (each) => each.scaledDotProductAttention(x, x, x, { casual: true } as object),
      (each) => each.scaledDotProductAttention(x, x, x, { location: "gpu" }),
      (each) => each.scaledDotProductAttention(x, x, x, { keyLengths: [0], emptyRows: "throw" }),
      (each) => each.kvCache({ from: new Uint8Array(3) }),
      (each) => each.kvCache({ numKvHeads: 2, headDim: 4, capacity: 1 }).then((cache) => cache.append(x, x)),
      (each) => each.rotaryEmbedding({} as FloatTensor),
    ];
    for (const call of calls) {
      const [error, expected] = await Promise.all([hw, main].map((each) => errorOf(call(each))));
      expect(error).toMatchObject({ isOurs: true });
      expect(error).toEqual(expected);
    }
  });

  test("the rows of an EmptyRowError", async () => {
    const x = floats(1, 2, 3, 4);
    const error: unknown = await hw
      .scaledDotProductAttention(x, x, x, { keyLengths: [0], emptyRows: "throw" })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      name: "EmptyRowError",
      rows: expect.arrayContaining([{ batch: 0, head: 1, query: 2 }]),
    });
  });
});

describe("inputs of a worker", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createInWorker({ threads: 1 });
  });
  afterAll(() => hw.dispose());

  test("stay with the caller: none is detached, one given thrice is one", async () => {
    const x = floats(3, 8, 4);
    const before = x.data.slice();
    await hw.scaledDotProductAttention(x, x, x, { mask: { data: new Uint8Array(64).fill(1), shape: [8, 8] } });
    expect(x.data).toEqual(before);
  });

  test("may be windows on larger arrays", async () => {
    const whole = floats(100);
    const window = { data: whole.data.subarray(7, 7 + 24), shape: [6, 4] };
    const copy = { data: window.data.slice(), shape: [6, 4] };
    const [one, other] = [window, copy].map((each) => hw.scaledDotProductAttention(each, each, each));
    expect(bits(await one!)).toEqual(bits(await other!));
  });

  test("in shared memory are read there, and an output is written there", async () => {
    const x = hw.allocate([6, 4]);
    expect(Object.prototype.toString.call(x.data.buffer)).toBe("[object SharedArrayBuffer]");
    x.data.set(floats(6, 4).data);
    const into = hw.allocate([6, 4]);
    const { output } = await hw.scaledDotProductAttention(x, x, x, { into });
    expect(output).toBe(into);
    const own = floats(6, 4);
    expect(bits({ data: into.data })).toEqual(
      bits({ data: (await hw.scaledDotProductAttention(own, own, own)).output.data }),
    );
    into.dispose();
    expect(() => into.data).toThrow(/disposed/);
  });
});

test("a tensor inside headwise/inline keeps its numbers when memory grows, its array does not", async () => {
  const hw = await createInline({ maximumMemory: 128 * 2 ** 20 });
  const x = hw.allocate([4, 4]);
  x.data.fill(2);
  const { data } = x;
  const large = floats(1, 600_000, 8);
  await hw.scaledDotProductAttention(floats(1, 1, 8), large, large);
  expect(data).toHaveLength(0);
  expect(Array.from(x.data)).toEqual(Array.from({ length: 16 }, () => 2));
  const { output } = await hw.scaledDotProductAttention(x, x, x);
  expect(output.data[0]).toBe(2);
  hw.dispose();
});

test("headwise/inline holds nothing that loads, starts or evaluates, and no entry names a place on the network", async () => {
  const found = async (name: string, pattern: RegExp) =>
    (await readFile(new URL(`../../dist/${name}.js`, import.meta.url), "utf8")).match(pattern) ?? [];
  const parts = (await readdir(new URL("../../dist/", import.meta.url)))
    .filter((name) => /^part-.*\.js$/.test(name))
    .map((name) => name.replace(/\.js$/, ""));
  const forbidden = /\b(import|fetch|Worker|importScripts|eval|Function)\s*\(/g;
  expect(await found("inline", forbidden)).toEqual([]);
  expect((await Promise.all(parts.map((name) => found(name, forbidden)))).flat()).toContain("fetch(");
  for (const name of [
    "index",
    "index.node",
    "worker",
    "worker-entry",
    "inline",
    "webgpu-engine",
    "auto-engine",
    "wasm/headwise.simd",
    ...parts,
  ])
    expect(await found(name, /https?:\/\/[\w.]+/g)).toEqual([]);
});

describe("headwise/inline with a module that was compiled elsewhere", () => {
  const file = (name: string) => readFile(new URL(`../../dist/wasm/headwise.${name}.wasm`, import.meta.url));
  const compiled = async (name: string) => WebAssembly.compile(await file(name));

  test("computes with it, compiles nothing and sets no timer, which Cloudflare forbids on import", async () => {
    const module = await compiled("inline");
    const x = floats(2, 9, 8);
    const { output: expected } = await main.scaledDotProductAttention(x, x, x);
    const compile = jest.spyOn(WebAssembly, "compile").mockRejectedValue(new Error("not here"));
    const timer = jest.spyOn(globalThis, "setTimeout");
    const hw = await createInline({ wasm: { module } });
    expect(compile).not.toHaveBeenCalled();
    expect(timer).not.toHaveBeenCalled();
    compile.mockRestore();
    timer.mockRestore();
    const { output } = await hw.scaledDotProductAttention(x, x, x);
    hw.dispose();
    expect(bits(output)).toEqual(bits(expected));
    expect(hw.report).toMatchObject({ variant: "simd", threads: 1 });
  });

  test("refuses every other, before it runs", async () => {
    const foreign = await WebAssembly.compile(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
    expect(await errorOf(createInline({ wasm: { module: foreign } }))).toMatchObject({
      name: "AssetError",
      code: "ASSET_INVALID",
      message: "createAttention: wasm.module is WebAssembly, but not a module of headwise",
      hint: expect.stringMatching(/headwise\/wasm\/headwise\.inline\.wasm/),
    });
    expect(await errorOf(createInline({ wasm: { module: await compiled("simd") } }))).toMatchObject({
      name: "AssetError",
      code: "ASSET_INVALID",
      message: "createAttention: wasm.module is the module of headwise",
    });
  });

  test("says that it needs one where nothing may be compiled from bytes", async () => {
    const text = "WebAssembly.compile(): Wasm code generation disallowed by embedder";
    const compile = jest.spyOn(WebAssembly, "compile").mockRejectedValue(new WebAssembly.CompileError(text));
    // Its module has not been compiled yet: it is another instance of the file.
    const file = "../../dist/inline.js?uncompiled";
    const uncompiled = (await import(file)) as { readonly createAttention: typeof createInline };
    const error = await errorOf(uncompiled.createAttention());
    compile.mockRestore();
    expect(error).toMatchObject({
      name: "AssetError",
      code: "ASSET_BLOCKED",
      hint: expect.stringMatching(/headwise\.inline\.wasm.*`wasm: \{ module \}`/),
    });
  });
});

test.each([
  ["null", { value: { gpu: null } }],
  [
    "an accessor that throws",
    {
      get(): never {
        throw new Error("denied");
      },
    },
  ],
])("navigator.gpu that is %s counts as none", async (_, property) => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { ...property, configurable: true });
  try {
    using hw = await createAttention({ threads: 1 });
    expect([hw.gpu, hw.report.reasons.webgpu]).toEqual([undefined, "this environment has no navigator.gpu"]);
    expect(await errorOf(createOnGpu())).toMatchObject({ name: "UnsupportedError" });
  } finally {
    if (own) Object.defineProperty(globalThis, "navigator", own);
    else Reflect.deleteProperty(globalThis, "navigator");
  }
});

test("a signal that aborts is heard while a GPU is opened, which may take for ever", async () => {
  const gpu = { requestAdapter: () => new Promise(() => undefined) };
  for (const create of [createAttention, createOnGpu]) {
    const controller = new AbortController();
    const opening = create({ backend: "webgpu", gpu, signal: controller.signal });
    setTimeout(() => controller.abort("enough"), 50);
    expect(await opening.catch((reason: unknown) => reason)).toBe("enough");
  }
});

test("what an entry does not have is refused with a reason", async () => {
  const gpu = { requestAdapter: () => Promise.resolve(null) };
  const refused = [
    [createInWorker({ gpu } as object), "UnsupportedError", /gpu cannot be sent to a worker/],
    [createInline({ backend: "webgpu" } as object), "UnsupportedError", /has no WebGPU/],
    [createInline({ variant: "relaxed" }), "UnsupportedError", /has no relaxed SIMD module/],
    ...["url", "glueUrl", "baseUrl"].map(
      (name) => [createInline({ wasm: { [name]: "x" } }), "OptionError", `wasm.${name} must be absent`] as const,
    ),
    [createInline({ wasm: { binary: new Uint8Array(8) } } as object), "OptionError", /wasm\.binary must be absent/],
    [createInline({ device: {} } as object), "OptionError", /device must be absent: headwise\/inline has no WebGPU/],
    [createInline({ gpu } as object), "OptionError", /gpu must be absent: headwise\/inline has no WebGPU/],
    [
      createInline({ profile: true } as object),
      "OptionError",
      /profile must be absent: headwise\/inline has no WebGPU/,
    ],
    [
      createInline({ onProgress: () => undefined } as object),
      "OptionError",
      /onProgress must be absent: headwise\/inline loads no file/,
    ],
  ] as const;
  for (const [call, name, message] of refused) {
    expect(await errorOf(call)).toMatchObject({ name, message: expect.stringMatching(message) });
  }
  const worker = await createInWorker({ backend: "wasm", threads: 1 });
  const x = floats(2, 2);
  const encoding = await errorOf(worker.scaledDotProductAttention(x, x, x, { encoder: {} }));
  worker.dispose();
  expect(encoding).toMatchObject({
    name: "UnsupportedError",
    message: expect.stringMatching(/^scaledDotProductAttention: .*cannot be sent/),
  });
  const hw = await createInline({ threads: 4 });
  expect(hw.report).toMatchObject({
    threads: 1,
    variant: "simd",
    reasons: { threads: "headwise/inline starts no worker: import headwise for more threads" },
  });
  hw.dispose();
});

test("what a debugger shows are the names of the documentation", async () => {
  const layer = await main.multiHeadAttention({
    ...{ inputDim: 2, numHeads: 1, outputProjection: false },
    weights: { Wq: floats(2, 2), Wk: floats(2, 2), Wv: floats(2, 2) },
  });
  const cache = await main.kvCache({ numKvHeads: 1, headDim: 2 });
  const objects = [main, layer, cache, main.allocate([1])];
  const names = ["Attention", "Layer", "KvCache", "EngineTensor"];
  expect(objects.map((object) => object.constructor.name)).toEqual(names);
  const classes = [HeadwiseError, ShapeError, AttentionMap, AttentionHeads];
  expect(classes.map(({ name }) => name)).toEqual(["HeadwiseError", "ShapeError", "AttentionMap", "AttentionHeads"]);
});
