// Code that is loaded when a call first needs it. These instances have parts whose loading the test controls.

import { afterEach, describe, expect, jest, test } from "@jest/globals";
import type { KvCache, Layer, Saved } from "headwise";
import { formula } from "headwise/formula";

import "./asBuilt.js";
import { AssetError, DisposedError, OptionError } from "../../web/src/base/errors.js";
import type { Engine } from "../../web/src/engine/engine.js";
import { NO_CALIBRATION } from "../../web/src/engine/report.js";
import { Attention } from "../../web/src/instance/attention.js";
import { lateParts } from "../../web/src/instance/lateParts.js";
import * as formulas from "../../web/src/instance/parts/formulas.js";
import * as layers from "../../web/src/instance/parts/layers.js";
import * as operations from "../../web/src/instance/parts/operations.js";
import * as plans from "../../web/src/instance/parts/plans.js";
import * as steps from "../../web/src/instance/parts/steps.js";
import { snapshot } from "../../web/src/read/snapshot.js";
import { here, Late, type Part } from "../../web/src/turn/late.js";
import { WasmEngine } from "../../web/src/wasm/wasmEngine.js";
import { randomTensor } from "./randomTensor.js";
import { openWasmCore } from "./sourceWasm.js";

/** Both parts with operations: that of layers and caches, and that of the others. */
const operationsAndLayers = { ...layers, ...operations };

type Operations = typeof operationsAndLayers;

const formulasHere = () => Promise.resolve<object>(formulas);

/** An instance whose operations and formulas arrive when these functions say so. `more` is added to its engine. */
async function instanceWith(
  load: () => Promise<Operations>,
  loadFormulas = formulasHere,
  more = {},
  loadLayers?: () => Promise<Operations>,
): Promise<Attention> {
  const part = new Late(load);
  const layersPart = loadLayers ? new Late(loadLayers) : part;
  const engine: Engine = Object.assign(
    new WasmEngine(await openWasmCore(), { layers: layersPart, operations: part }),
    more,
  );
  const parts = {
    formulas: new Late(loadFormulas),
    layers: layersPart,
    operations: part,
    plans: here(plans),
    steps: here(steps),
  };
  const report = { version: "0", backend: "wasm", variant: "simd", threads: 1, maximumMemory: 2 ** 28 } as const;
  return Attention.over({ engine, report: { ...report, reasons: {}, calibration: NO_CALIBRATION } }, parts);
}

/** A part that arrives when the test lets it. */
function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, load: async () => (await opened, operationsAndLayers) };
}

const x = randomTensor(1, [6, 8]);
const weight = randomTensor(2, [8, 8]);
const heads = randomTensor(3, [1, 2, 6, 4]);
const layerOptions = {
  inputDim: 8,
  numHeads: 2,
  weights: { Wq: weight, Wk: weight, Wv: weight, Wo: weight },
};

const CALLS: Readonly<Record<string, (hw: Attention) => Promise<unknown>>> = {
  linear: (hw) => hw.linear(x, weight),
  linearBackward: (hw) => hw.linearBackward({ x, weight, dOutput: x }),
  rotaryEmbedding: (hw) => hw.rotaryEmbedding(heads),
  async attentionBackward(hw) {
    const { output, lse } = await hw.scaledDotProductAttention(heads, heads, heads, { returns: { lse: true } });
    return hw.attentionBackward({ query: heads, key: heads, value: heads, output, lse, dOutput: heads });
  },
  async "attentionBackward with formulas"(hw) {
    const score = formula("s - slope[h] * abs(q - k)", { slope: [0.5, 0.25] });
    const options = { score, visible: formula("k <= q") };
    const { output, lse } = await hw.scaledDotProductAttention(heads, heads, heads, {
      ...options,
      returns: { lse: true },
    });
    const returns = { dQuery: true, dTables: true };
    return hw.attentionBackward({ query: heads, key: heads, value: heads, output, lse, dOutput: heads, ...options, returns }); // oxfmt-ignore
  },
  async mergeAttention(hw) {
    const part = await hw.scaledDotProductAttention(heads, heads, heads, { returns: { lse: true } });
    return hw.mergeAttention([part, part]);
  },
  async multiHeadAttention(hw) {
    using layer = await hw.multiHeadAttention(layerOptions);
    return layer.forward(x);
  },
  async kvCache(hw) {
    using cache = await hw.kvCache({ numKvHeads: 2, headDim: 4, capacity: 8 });
    await cache.append(heads, heads);
    return cache.attend(heads, { causal: true });
  },
};

/** A call that makes a layer and uses it. */
const withLayer = (use: (layer: Layer) => Promise<unknown>) => async (own: Attention) => {
  using layer = await own.multiHeadAttention(layerOptions);
  return await use(layer);
};

/** A call that makes a cache with tokens and uses it. */
const withCache = (use: (cache: KvCache) => Promise<unknown>) => async (own: Attention) => {
  using cache = await own.kvCache({ numKvHeads: 2, headDim: 4 });
  await cache.append(heads, heads);
  return await use(cache);
};

const gradientsOf = (layer: Layer, { saved }: { readonly saved: Saved }) => layer.backward(saved, x);

let hw: Attention;
afterEach(() => hw.dispose());

describe("the first call that needs a part", () => {
  test.each(Object.entries(CALLS))("%s gives what later calls give", async (_name, call) => {
    const load = jest.fn(() => Promise.resolve(operationsAndLayers));
    hw = await instanceWith(load);
    const first = await call(hw);
    expect(await call(hw)).toEqual(first);
    expect(load).toHaveBeenCalledTimes(1);
  });

  test("keeps its turn: a later call sees what it has written", async () => {
    const { open, load } = gate();
    hw = await instanceWith(load);
    const into = { data: new Float32Array(48), shape: [6, 8] };
    const order: string[] = [];
    const first = hw.linear(x, weight, undefined, { into }).finally(() => order.push("linear"));
    const second = hw.scaledDotProductAttention(into, into, into).finally(() => order.push("attention"));
    open();
    expect((await first).data).toBe(into.data);
    expect(order).toEqual(["linear"]);
    const { output } = await hw.scaledDotProductAttention(into, into, into);
    expect((await second).output).toEqual(output);
    expect(output.data.some((number) => number !== 0)).toBe(true);
  });

  test("gives the very tensor that was given as into", async () => {
    hw = await instanceWith(() => Promise.resolve(operationsAndLayers));
    const into = { data: new Float32Array(48), shape: [6, 8] };
    expect(await hw.linear(x, weight, undefined, { into })).toBe(into);
  });

  test("reads its options as they were when it was made", async () => {
    const expected = await withOwn((own) => own.linear(x, weight, undefined, { weightLayout: "out-in" }));
    const { open, load } = gate();
    hw = await instanceWith(load);
    const options: { weightLayout: "out-in" | "in-out" } = { weightLayout: "out-in" };
    const coming = hw.linear(x, weight, undefined, options);
    options.weightLayout = "in-out";
    open();
    expect(await coming).toEqual(expected);
  });

  test("reads what lies inside of its options as it was, too", async () => {
    const expected = await withOwn(async (own) => (await own.multiHeadAttention(layerOptions)).forward(x));
    const { open, load } = gate();
    hw = await instanceWith(load);
    const weights: Record<string, unknown> = { ...layerOptions.weights };
    const coming = hw.multiHeadAttention({ ...layerOptions, weights });
    delete weights.Wo;
    weights.Wq = "gone";
    open();
    expect(await (await coming).forward(x)).toEqual(expected);
  });

  test("reads each property once", async () => {
    hw = await instanceWith(() => Promise.resolve(operationsAndLayers));
    const layout = jest.fn(() => "in-out" as const);
    const options = Object.defineProperty({}, "weightLayout", { get: layout, enumerable: true });
    await hw.linear(x, weight, undefined, options);
    expect(layout).toHaveBeenCalledTimes(1);
  });

  test("refuses what later calls refuse, with the same words, and the instance goes on", async () => {
    const wrong = (own: Attention) => own.linear(x, weight, undefined, { weightLayout: "sideways" as "in-out" });
    const later = await withOwn((own) => wrong(own).catch(String));
    hw = await instanceWith(() => Promise.resolve(operationsAndLayers));
    expect(await wrong(hw).catch(String)).toBe(later);
    expect(later).toMatch(/^OptionError: linear: weightLayout must be /);
    await hw.linear(x, weight);
  });

  test.each<[string, object]>([
    ["a getter throws", Object.defineProperty({}, "into", { get: () => fail(), enumerable: true })],
    ["a proxy throws", new Proxy({}, { ownKeys: fail, getPrototypeOf: fail })],
    ["the signal throws", { signal: new Proxy({}, { get: fail }) }],
    ["the signal is none", { signal: "now" }],
  ])("gets an OptionError if %s", async (_what, options) => {
    hw = await instanceWith(() => Promise.resolve(operationsAndLayers));
    await expect(hw.linear(x, weight, undefined, options)).rejects.toBeInstanceOf(OptionError);
    await hw.linear(x, weight);
  });

  test("rejects when its signal aborts behind another call, and when it has aborted before", async () => {
    hw = await instanceWith(() => Promise.resolve(operationsAndLayers));
    const running = hw.scaledDotProductAttention(heads, heads, heads);
    const controller = new AbortController();
    const waiting = hw.linear(x, weight, undefined, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await running;
    await expect(hw.linear(x, weight, undefined, { signal: AbortSignal.abort(new Error("never")) })).rejects.toThrow("never"); // oxfmt-ignore
  });

  test("rejects when its signal aborts while the part comes, and the next call waits for the part", async () => {
    const { open, load } = gate();
    hw = await instanceWith(load);
    const controller = new AbortController();
    const waiting = hw.linear(x, weight, undefined, { signal: controller.signal });
    const next = hw.linear(x, weight);
    await new Promise(setImmediate); // it has its turn
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    open();
    expect((await next).shape).toEqual([6, 8]);
  });

  test("is a DisposedError if the instance is disposed while the part comes", async () => {
    const { open, load } = gate();
    hw = await instanceWith(load);
    const coming = hw.multiHeadAttention(layerOptions);
    hw.dispose();
    open();
    await expect(coming).rejects.toBeInstanceOf(DisposedError);
  });

  test("rejects if the part cannot be loaded, other calls go on, and the next one tries again", async () => {
    const load = jest
      .fn(() => Promise.resolve(operationsAndLayers))
      .mockRejectedValueOnce(new AssetError("linear: offline"));
    hw = await instanceWith(load);
    const failing = hw.linear(x, weight);
    const plain = hw.scaledDotProductAttention(heads, heads, heads);
    await expect(failing).rejects.toThrow("linear: offline");
    await plain;
    expect((await hw.linear(x, weight)).shape).toEqual([6, 8]);
  });
});

describe("the first call with formulas", () => {
  const score = formula("s - slope[h] * abs(q - k)", { slope: [0.5, 0.25] });
  const visible = formula("k <= q");
  const fromOperations = () => Promise.reject(new Error("operations were loaded"));
  const instanceAwaiting = (load: () => Promise<object>) => instanceWith(fromOperations, load);

  /** The part of formulas, which arrives when the test lets it. */
  function formulaGate() {
    let open!: () => void;
    const opened = new Promise<void>((resolve) => (open = resolve));
    return { open, load: async () => (await opened, formulas) };
  }

  /** The same call of an instance that has formulas. */
  async function later<T>(use: (own: Attention) => Promise<T>): Promise<T> {
    const own = await instanceAwaiting(formulasHere);
    await own.scaledDotProductAttention(heads, heads, heads, { visible });
    try {
      return await use(own);
    } finally {
      own.dispose();
    }
  }

  test.each<[string, (own: Attention) => Promise<unknown>]>([
    ["score", (own) => own.scaledDotProductAttention(heads, heads, heads, { score, returns: { lse: true } })],
    ["visible", (own) => own.scaledDotProductAttention(heads, heads, heads, { visible })],
    [
      "both, in nested arrays",
      (own) => own.scaledDotProductAttention([[1, 2]], [[3, 4]], [[5, 6]], { score, visible }),
    ],
    ["warmup", (own) => own.warmup({ numHeads: 2, queryLength: 4, headDim: 8 }, { score })],
  ])("%s gives what later calls give, and loads their code once", async (_name, call) => {
    const load = jest.fn(formulasHere);
    hw = await instanceAwaiting(load);
    const first = await call(hw);
    expect(await call(hw)).toEqual(first);
    expect(load).toHaveBeenCalledTimes(1);
  });

  test.each<[string, (own: Attention) => Promise<unknown>]>([
    ["layer.forward", withLayer((layer) => layer.forward(x, { score }))],
    [
      "layer.forward with save",
      withLayer(async (layer) => gradientsOf(layer, await layer.forward(x, { score, save: true }))),
    ],
    ["cache.attend", withCache((cache) => cache.attend(heads, { score, visible }))],
    ["cache.step", withCache((cache) => cache.step(heads, heads, heads, { visible }))],
  ])("%s: an instance with layers and caches loads their code then", async (_name, call) => {
    const load = jest.fn(formulasHere);
    hw = await instanceWith(() => Promise.resolve(operationsAndLayers), load);
    const first = await call(hw);
    expect(await call(hw)).toEqual(first);
    expect(load).toHaveBeenCalledTimes(1);
  });

  test("goes on with a layer and a cache that are disposed meanwhile, as any call does", async () => {
    const { open, load } = formulaGate();
    hw = await instanceWith(() => Promise.resolve(operationsAndLayers), load);
    const layer = await hw.multiHeadAttention(layerOptions);
    const cache = await layer.kvCache();
    const coming = [layer.forward(x, { score, cache }), cache.attend(heads, { score })];
    layer.dispose();
    cache.dispose();
    open();
    for (const { output } of await Promise.all(coming)) expect(output.data.some(Number.isNaN)).toBe(false);
  });

  test("is recorded in its turn if it has an encoder, and later calls at once", async () => {
    const { open, load } = formulaGate();
    const record = jest.fn(() => ({ atOnce: true, results: Promise.resolve({ output: heads }) }));
    hw = await instanceWith(fromOperations, load, { record });
    const call = () => hw.scaledDotProductAttention(heads, heads, heads, { score, encoder: {} });
    const coming = call();
    expect(record).not.toHaveBeenCalled();
    open();
    expect(await coming).toEqual({ output: heads });
    void call();
    expect(record).toHaveBeenCalledTimes(2);
  });

  test("keeps its turn: a later call sees what it has written", async () => {
    const { open, load } = formulaGate();
    hw = await instanceAwaiting(load);
    const into = { data: new Float32Array(48), shape: heads.shape };
    const order: string[] = [];
    const first = hw.scaledDotProductAttention(heads, heads, heads, { score, into }).finally(() => order.push("score"));
    const second = hw.scaledDotProductAttention(into, into, into).finally(() => order.push("plain"));
    open();
    expect((await first).output).toBe(into);
    expect(order).toEqual(["score"]);
    expect((await second).output).toEqual((await hw.scaledDotProductAttention(into, into, into)).output);
    expect(into.data.some((number) => number !== 0)).toBe(true);
  });

  test("reads its options as they were when it was made, with what lies inside of them", async () => {
    const made = () => ({ scale: 0.3, window: { left: 2 }, returns: { lse: true }, visible: structuredClone(visible) });
    const expected = await later((own) => own.scaledDotProductAttention(heads, heads, heads, made()));
    const { open, load } = formulaGate();
    hw = await instanceAwaiting(load);
    const options = made();
    const coming = hw.scaledDotProductAttention(heads, heads, heads, options);
    options.window.left = 0;
    Object.assign(options, { scale: 7, returns: { output: false } });
    Object.assign(options.visible.graph, { result: -1 });
    open();
    expect(await coming).toEqual(expected);
  });

  test("reads each property once, also of an object of a class", async () => {
    hw = await instanceAwaiting(formulasHere);
    const reads = jest.fn(() => visible);
    class Options {
      get visible() {
        return reads();
      }
    }
    await hw.scaledDotProductAttention(heads, heads, heads, new Options());
    expect(reads).toHaveBeenCalledTimes(1);
  });

  test.each<[string, object]>([
    ["a formula that is a text", { score: "s" }],
    ["a formula that is null", { visible: null }],
    ["a visible that reads the score", { visible: formula("s < 0") }],
    ["a formula that is none", { score: { text: "s", graph: {}, values: [] } }],
    ["an index outside of its table", { score: formula("s + t[k]", { t: [1, 2] }) }],
    ["another wrong option", { score, window: { left: -1 } }],
    ["a misspelt option", { score, causul: true }],
    ["a signal that is none", { score, signal: "now" }],
    ["an encoder, which wasm does not have", { score, encoder: {} }],
    ["emptyRows that no formula has", { score, emptyRows: "throw" }],
  ])("refuses %s with the words of later calls, and the instance goes on", async (_what, options) => {
    const call = (own: Attention) => own.scaledDotProductAttention(heads, heads, heads, options).catch(String);
    const expected = await later(call);
    expect(expected).toMatch(/^\w+Error: scaledDotProductAttention: /);
    hw = await instanceAwaiting(formulasHere);
    expect(await call(hw)).toBe(expected);
    await hw.scaledDotProductAttention(heads, heads, heads, { score });
  });

  test("rejects when its signal aborts behind another call", async () => {
    hw = await instanceAwaiting(formulasHere);
    const running = hw.scaledDotProductAttention(heads, heads, heads);
    const controller = new AbortController();
    const waiting = hw.scaledDotProductAttention(heads, heads, heads, { score, signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await running;
  });

  test("is a DisposedError if the instance is disposed while their code comes", async () => {
    const { open, load } = formulaGate();
    hw = await instanceAwaiting(load);
    const coming = hw.scaledDotProductAttention(heads, heads, heads, { score });
    hw.dispose();
    open();
    await expect(coming).rejects.toBeInstanceOf(DisposedError);
  });

  test("rejects if their code cannot be loaded, plain calls go on, and the next one tries again", async () => {
    const load = jest.fn(formulasHere).mockRejectedValueOnce(new AssetError("scaledDotProductAttention: offline"));
    hw = await instanceAwaiting(load);
    const failing = hw.scaledDotProductAttention(heads, heads, heads, { score });
    const plain = hw.scaledDotProductAttention(heads, heads, heads);
    await expect(failing).rejects.toThrow("offline");
    await plain;
    await hw.scaledDotProductAttention(heads, heads, heads, { score });
  });
});

test.each(["linear", "linearBackward", "rotaryEmbedding", "mergeAttention", "multiHeadAttention", "kvCache"])(
  "%s needs no code for formulas",
  async (name) => {
    hw = await instanceWith(
      () => Promise.resolve(operationsAndLayers),
      () => Promise.reject(new Error("formulas were loaded")),
    );
    await CALLS[name]!(hw);
  },
);

test.each(["linear", "linearBackward", "rotaryEmbedding", "mergeAttention", "attentionBackward"])(
  "%s needs no code of layers and caches",
  async (name) => {
    const noLayers = () => Promise.reject(new Error("layers were loaded"));
    hw = await instanceWith(() => Promise.resolve(operationsAndLayers), formulasHere, {}, noLayers);
    await CALLS[name]!(hw);
  },
);

test.each(["multiHeadAttention", "kvCache"])("%s needs no code of other operations", async (name) => {
  const noOperations = () => Promise.reject(new Error("operations were loaded"));
  hw = await instanceWith(noOperations, formulasHere, {}, () => Promise.resolve(operationsAndLayers));
  await CALLS[name]!(hw);
});

test("plain attention, warmup and allocate need no part", async () => {
  const noPart = () => Promise.reject(new Error("a part was loaded"));
  hw = await instanceWith(noPart, noPart);
  const y = hw.allocate([1, 2, 6, 4]);
  await hw.warmup({ numHeads: 2, queryLength: 4, headDim: 8 });
  await hw.scaledDotProductAttention(y, heads, heads, {
    causal: true,
    score: undefined,
    mask: { data: new Uint8Array(36).fill(1), shape: [6, 6] },
    returns: { lse: true, probs: true, entropy: true, topK: { k: 2 } },
  });
});

test("all parts of the package can be loaded", async () => {
  hw = await instanceWith(() => Promise.resolve(operationsAndLayers));
  expect(Object.keys(lateParts).sort()).toEqual([
    "auto",
    "formulas",
    "layers",
    "operations",
    "placed",
    "plans",
    "steps",
  ]);
  for (const part of Object.values<Part<object>>({ ...lateParts })) expect(await part.load("test")).toBe(part.loaded);
});

describe("a snapshot", () => {
  test("copies plain objects and arrays, and shares tensors, typed arrays, functions and objects of a class", () => {
    const tensor = { data: new Float32Array(1), shape: [1] };
    const given = { list: [1, { deep: true }], tensor, f: fail, map: new Map(), numbers: new Int32Array(2) };
    const kept = snapshot(given);
    expect(kept).toEqual(given);
    expect(kept).not.toBe(given);
    expect(kept.list).not.toBe(given.list);
    expect(kept.list[1]).not.toBe(given.list[1]);
    for (const name of ["tensor", "f", "map", "numbers"] as const) expect(kept[name]).toBe(given[name]);
  });

  test("ends in an object that contains itself, and keeps what cannot be read", () => {
    const circle: { self?: object } = {};
    circle.self = circle;
    expect(snapshot(circle).self).toBeDefined();
    const broken = Object.defineProperty({}, "x", { get: () => fail(), enumerable: true });
    expect(snapshot(broken)).toBe(broken);
  });
});

async function withOwn<T>(use: (own: Attention) => Promise<T>): Promise<T> {
  const own = await instanceWith(() => Promise.resolve(operationsAndLayers));
  await own.linear(x, weight); // its part is there now
  try {
    return await use(own);
  } finally {
    own.dispose();
  }
}

function fail(): never {
  throw new Error("not readable");
}
