// The wasm module comes in two files with one memory. The late part is loaded by the first call that needs it.

import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AssetError, createAttention, toFloat16, type Attention, type CreateOptions, type WasmSource } from "headwise";
import { formula } from "headwise/formula";
import { createAttention as createInline } from "headwise/inline";
import { loadModel } from "headwise/models";
import { createAttention as createInWorker } from "headwise/worker";

import { attentionCases } from "./cases.js";
import { bits } from "./close.js";
import { variants } from "./engines.js";
import { detach } from "./hostileArguments.js";
import { LATE, PLAIN, type Use } from "./latePartCalls.js";
import { settingsOf, TOKENS } from "./modelExpected.js";
import { randomTensor } from "./randomTensor.js";
import { filesOf } from "./smallModels.js";

const [late, plain] = [Object.entries(LATE), Object.entries(PLAIN)];

let folder: string;
/** The engine that has no late part: its module is whole. */
let whole: Attention;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "headwise-"));
  cpSync("dist/wasm", path.join(folder, "wasm"), { recursive: true });
  for (const variant of ["simd", "relaxed"]) rmSync(path.join(folder, `wasm/headwise.${variant}.late.wasm`));
  whole = await createInline();
});
afterAll(() => {
  whole.dispose();
  rmSync(folder, { recursive: true });
});

const published = (variant = "simd") => `dist/wasm/headwise.${variant}.late.wasm`;

/** An instance whose late part is not there. */
const withoutLatePart = (options: CreateOptions = {}) =>
  createAttention({ backend: "wasm", variant: "simd", wasm: { baseUrl: path.join(folder, "wasm") }, ...options });

const expected = new Map<Use, object>();
/** What the whole module computes. */
async function bitsOf(use: Use): Promise<object> {
  let result = expected.get(use);
  if (!result) expected.set(use, (result = bits(await use(whole))));
  return result;
}

const problemOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "it was computed",
    (error: unknown) => error,
  );

describe.each(variants)("without the late part, variant %s:", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await withoutLatePart({ variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  test("all calls of the case table on float32 compute, with output and lse alone", async () => {
    for (const { name, query, key, value, options } of attentionCases()) {
      const { score, visible, ...rest } = options as typeof options & { score?: unknown; visible?: unknown };
      const isNarrow = [key, value].some(({ data }) => data.BYTES_PER_ELEMENT < 4);
      if (score || visible || isNarrow) continue;
      const given = { ...rest, returns: { output: true, lse: true } } as const;
      const call = (on: Attention) => on.scaledDotProductAttention(query, key, value, given).then(bits, String);
      const result = await call(hw);
      expect([name, result]).not.toEqual([name, expect.stringMatching(/late\.wasm|engine stopped/)]);
      if (variant === "simd") expect([name, result]).toEqual([name, await call(whole)]);
    }
  });

  test.each(plain)("%s computes", async (_name, use) => {
    const result = bits(await use(hw));
    if (variant === "simd") expect(result).toEqual(await bitsOf(use));
  });

  test.each(late)("%s says that the file is missing", async (_name, use) => {
    const error = await problemOf(use(hw));
    expect(AssetError.is(error)).toBe(true);
    expect(error).toMatchObject({ code: "ASSET_NOT_FOUND" });
    expect(String(error)).toContain(`headwise.${variant}.late.wasm`);
  });
});

describe.each([1, 2, 4])("on %d threads,", (threads) => {
  test.each(late)("%s may be the first call, with the bits of the whole module", async (_name, use) => {
    using hw = await createAttention({ backend: "wasm", variant: "simd", threads });
    expect(bits(await use(hw))).toEqual(await bitsOf(use));
  });

  test("calls that wait behind the first late one compute as ever, and so do later ones", async () => {
    using hw = await createAttention({ backend: "wasm", variant: "simd", threads });
    const uses = [...plain.slice(0, 3), ...late, ...plain].map(([, use]) => use);
    const results = await Promise.all(uses.map((use) => use(hw)));
    for (const [n, use] of uses.entries()) expect(bits(results[n]!)).toEqual(await bitsOf(use));
    for (const use of uses.slice(0, 6)) expect(bits(await use(hw))).toEqual(await bitsOf(use));
  });

  test("memory that grew before, and grows afterwards, is that of both parts", async () => {
    using hw = await createAttention({ backend: "wasm", variant: "simd", threads });
    const large = (seconds: number) => {
      const data = new Float32Array(8 * 3000 * 64 * seconds).fill(0.01);
      const x = { data, shape: [1, 8 * seconds, 3000, 64] };
      return hw.scaledDotProductAttention(x, x, x, { window: { left: 2 } });
    };
    const use = LATE["attentionBackward"]!;
    await large(1);
    expect(bits(await use(hw))).toEqual(await bitsOf(use));
    await large(3);
    for (const [, again] of late) expect(bits(await again(hw))).toEqual(await bitsOf(again));
  });
});

test("a late file that comes back is loaded by the next call", async () => {
  const file = path.join(folder, "comes-back.wasm");
  using hw = await createAttention({ variant: "simd", threads: 2, wasm: { lateUrl: file } });
  const use = LATE["attention with a score formula"]!;
  expect(await problemOf(use(hw))).toMatchObject({ code: "ASSET_NOT_FOUND" });
  expect(bits(await PLAIN["a layer"]!(hw))).toEqual(await bitsOf(PLAIN["a layer"]!));
  cpSync(published(), file);
  expect(bits(await use(hw))).toEqual(await bitsOf(use));
});

test.each([
  ["url", "wasm/headwise.simd.wasm", "wasm/headwise.simd.late.wasm?v=3"],
  ["baseUrl", "wasm/", "wasm/headwise.simd.late.wasm?v=3"],
] as const)("a query of wasm.%s belongs to the late file beside it, too", async (name, address, late) => {
  const base = pathToFileURL(`${folder}/`);
  using hw = await createAttention({
    variant: "simd",
    threads: 2,
    wasm: { [name]: new URL(`${address}?v=3`, base) },
  });
  const error = await problemOf(LATE["attention with a score formula"]!(hw));
  expect(error).toMatchObject({ code: "ASSET_NOT_FOUND" });
  expect(String(error)).toContain(new URL(late, base).href);
});

test("of two calls at once that find no file, each says so, and neither ends the instance", async () => {
  using hw = await withoutLatePart({ threads: 2 });
  const use = LATE["attention with a score formula"]!;
  const problems = await Promise.all([problemOf(use(hw)), problemOf(use(hw))]);
  expect(problems).toEqual([
    expect.objectContaining({ code: "ASSET_NOT_FOUND" }),
    expect.objectContaining({ code: "ASSET_NOT_FOUND" }),
  ]);
  expect(bits(await PLAIN["a cache"]!(hw))).toEqual(await bitsOf(PLAIN["a cache"]!));
});

/** Answers with the late part when it is told to, and says when it is `asked`. */
async function slowServer() {
  let answer!: () => void;
  let hear!: () => void;
  const told = new Promise<void>((resolve) => (answer = resolve));
  const asked = new Promise<void>((resolve) => (hear = resolve));
  const server = createServer((_, response) => {
    hear();
    response.writeHead(200, { "content-type": "application/wasm" });
    void Promise.all([readFile(published()), told]).then(([bytes]) => response.end(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}/late.wasm`, answer, asked, [Symbol.dispose]: () => void server.close() };
}

describe.each([1, 2])("a signal that aborts while the late part is loaded (%d threads)", (threads) => {
  const [q, k, matrix] = [randomTensor(1, [1, 4, 3, 16]), randomTensor(2, [1, 2, 3, 16]), randomTensor(3, [16, 16])];
  const part = { output: q, lse: randomTensor(4, [1, 4, 3]) };
  const score = formula("s - 1");
  type Aborted = (hw: Attention, signal: AbortSignal) => Promise<unknown>;
  const aborted: Readonly<Record<string, Aborted>> = {
    attention: (hw, signal) => hw.scaledDotProductAttention(q, k, k, { numKvHeads: 2, score, signal }),
    mergeAttention: (hw, signal) => hw.mergeAttention([part, part], { signal }),
    linear: (hw, signal) => hw.linear(q, matrix, undefined, { signal }),
    "a layer of float16": (hw, signal) =>
      hw.multiHeadAttention({ numHeads: 2, weightDtype: "float16", weights: { Wq: matrix, Wk: matrix, Wv: matrix, Wo: matrix }, signal }), // oxfmt-ignore
  };
  const open = (address: string) => createAttention({ backend: "wasm", variant: "simd", threads, wasm: { lateUrl: address } }); // oxfmt-ignore
  const aWhile = () => new Promise((resolve) => setTimeout(resolve, 20));

  test.each(Object.entries(aborted))("rejects at once with its reason (%s), and later calls compute", async (_name, use) => {
    using server = await slowServer();
    using hw = await open(server.address);
    const controller = new AbortController();
    const call = problemOf(use(hw, controller.signal));
    const behind = PLAIN["a layer"]!(hw);
    await aWhile();
    controller.abort("enough");
    expect(await call).toBe("enough");
    server.answer();
    expect(bits(await behind)).toEqual(await bitsOf(PLAIN["a layer"]!));
    for (const [, later] of late.slice(0, 3)) expect(bits(await later(hw))).toEqual(await bitsOf(later));
  }); // oxfmt-ignore

  test("leaves a cache as it was", async () => {
    using server = await slowServer();
    using hw = await open(server.address);
    using cache = await hw.kvCache({ numKvHeads: 2, headDim: 16 });
    const controller = new AbortController();
    const call = problemOf(cache.step(q, k, k, { score, signal: controller.signal }));
    await aWhile();
    controller.abort("enough");
    expect(await call).toBe("enough");
    server.answer();
    await cache.append(k, k);
    expect(cache.length).toBe(3);
  });
});

test.each([1, 2, 4])(
  "dispose while it is loaded ends the call, and no other instance (%d threads)",
  async (threads) => {
    using other = await createAttention({ backend: "wasm", variant: "simd", threads });
    const use = LATE["attention with a score formula"]!;
    const otherCall = use(other);
    for (let turns = 0; turns < 20; ++turns) {
      const hw = await createAttention({ backend: "wasm", variant: "simd", threads });
      const problem = problemOf(use(hw));
      for (let turn = 0; turn < turns; ++turn) await new Promise((resolve) => setImmediate(resolve));
      hw.dispose();
      expect([expect.objectContaining({ code: "DISPOSED" }), "it was computed"]).toContainEqual(await problem);
    }
    expect(bits(await otherCall)).toEqual(await bitsOf(use));
    expect(bits(await use(other))).toEqual(await bitsOf(use));
  },
);

describe("a caller who gives the module himself", () => {
  const use = LATE["attentionBackward"]!;
  const bytes = () => readFile("dist/wasm/headwise.simd.wasm");
  const sources: readonly [string, () => Promise<WasmSource>][] = [
    ["bytes", async () => ({ binary: await bytes(), lateBinary: await readFile(published()) })],
    [
      "modules",
      async () => ({
        module: await WebAssembly.compile(await bytes()),
        lateModule: await WebAssembly.compile(await readFile(published())),
      }),
    ],
    ["addresses", async () => Promise.resolve({ url: "dist/wasm/headwise.simd.wasm", lateUrl: published() })],
    [
      "the address of the module, beside which it is",
      async () => Promise.resolve({ url: "dist/wasm/headwise.simd.wasm" }),
    ],
    ["the module alone: the package's own late part is loaded", async () => ({ binary: await bytes() })],
  ];

  test.each(sources)("may give both parts as %s", async (_what, source) => {
    for (const create of [createAttention, createInWorker]) {
      using hw = await create({ backend: "wasm", threads: 2, wasm: await source() });
      expect(bits(await use(hw))).toEqual(await bitsOf(use));
    }
  });

  const wrong: readonly [string, string, RegExp, () => Promise<Buffer>][] = [
    [
      "no wasm",
      "ASSET_INVALID",
      /wasm\.lateBinary is not a module that this engine compiles/,
      async () => Promise.resolve(Buffer.from("text")),
    ],
    ["a primary part", "ASSET_INVALID", /is a module of headwise, but not the late part of one/, bytes],
    [
      "the late part of the other variant",
      "ASSET_VERSION",
      /does not belong to the module that was loaded: it is the late part of the relaxed variant/,
      async () => readFile(published("relaxed")),
    ],
    [
      "the late part of another build",
      "ASSET_VERSION",
      /does not belong to the module that was loaded: it is of another build/,
      async () => ofAnotherBuild(await readFile(published())),
    ],
    [
      "the late part of another version",
      "ASSET_VERSION",
      /is of version 0\.0\.1/,
      async () => ofVersion(await readFile(published()), "0.0.1"),
    ],
  ];

  test.each(wrong)("and gives %s hears %s", async (_what, code, message, lateBinary) => {
    using hw = await createAttention({ variant: "simd", threads: 2, wasm: { lateBinary: await lateBinary() } });
    const error = await problemOf(use(hw));
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(bits(await PLAIN["a layer"]!(hw))).toEqual(await bitsOf(PLAIN["a layer"]!));
  });

  test("and gives the late part as the module hears what to give", async () => {
    const error = await problemOf(createAttention({ wasm: { binary: await readFile(published()) } }));
    expect(error).toMatchObject({
      code: "ASSET_INVALID",
      message: expect.stringMatching(/is the late part of a module/),
    });
  });
});

/** The label of a file, with another text of the same length in it. */
function relabelled(wasm: Buffer, change: (label: string) => string): Buffer {
  const at = wasm.lastIndexOf('{"version"');
  const label = change(wasm.toString("utf8", at));
  if (label.length !== wasm.length - at) throw new Error("the label has another length");
  return Buffer.concat([wasm.subarray(0, at), Buffer.from(label)]);
}

const ofAnotherBuild = (wasm: Buffer) =>
  relabelled(wasm, (label) => label.replace(/("build":")(\w{12})/, (_, start: string) => `${start}${"0".repeat(12)}`));

const ofVersion = (wasm: Buffer, version: string) =>
  relabelled(wasm, (label) =>
    label.replace(/("version":")([^"]+)"/, (_, start: string, own: string) => `${start}${version.padEnd(own.length)}"`),
  );

describe("an array that is lost while the late part is loaded is an error of its call:", () => {
  const seen = (n: number) => randomTensor(n, [1, 2, 6, 4]);
  const entropy = { returns: { entropy: true } } as const;
  const weights = () => {
    const square = (n: number) => toFloat16(randomTensor(n, [8, 8]));
    return { Wq: square(1), Wk: square(2), Wv: square(3), Wo: square(4) };
  };
  type Losing = (hw: Attention) => readonly [call: Promise<unknown>, lost: { readonly data: unknown }];
  const CALLS: Record<string, Losing> = {
    query(hw) {
      const query = seen(1);
      return [hw.scaledDotProductAttention(query, seen(2), seen(3), entropy), query];
    },
    mask(hw) {
      const mask = { data: new Uint8Array(36).fill(1), shape: [6, 6] };
      return [hw.scaledDotProductAttention(seen(1), seen(2), seen(3), { ...entropy, mask }), mask];
    },
    into(hw) {
      const into = seen(4);
      return [hw.scaledDotProductAttention(seen(1), seen(2), seen(3), { ...entropy, into }), into];
    },
    "the weight of linear"(hw) {
      const weight = randomTensor(5, [4, 4]);
      return [hw.linear(seen(1), weight), weight];
    },
    "the weight of a layer"(hw) {
      const given = weights();
      return [hw.multiHeadAttention({ numHeads: 2, weights: given }), given.Wv];
    },
  };

  test.each(Object.keys(CALLS))("%s", async (name) => {
    using hw = await createAttention({ backend: "wasm", variant: "simd", threads: 2 });
    // the code of all operations is here already
    await Promise.all([hw.rotaryEmbedding(seen(1)), hw.kvCache({ numKvHeads: 1, headDim: 4 })]);
    const [call, { data }] = CALLS[name]!(hw);
    detach(data as Float32Array);
    const error = await problemOf(call);
    expect(error).toMatchObject({ name: "OptionError", code: "DETACHED_INPUT" });
    expect(String(error)).toMatch(/: the memory of (into|an input) was transferred, shrunk or detached after the call/);
    const use = LATE["attention with a score formula"]!;
    expect(bits(await use(hw))).toEqual(await bitsOf(use));
  });
});

test("a worker of the pool that cannot link it is an error of the call, and not the end of the instance", async () => {
  const loader = await readFile("dist/wasm/headwise.simd.node.js", "utf8");
  const parts = loader.split(/new WebAssembly\.Instance\((?=\w+\.module,\{primary:)/);
  expect(parts).toHaveLength(2);
  const file = path.join(folder, "headwise.unlinking.node.js");
  writeFileSync(file, parts.join('new (class{constructor(){throw new Error("no room")}})('));
  using hw = await createAttention({ variant: "simd", threads: 3, wasm: { glueUrl: pathToFileURL(file) } });
  const use = LATE["attention with a score formula"]!;
  for (let time = 0; time < 2; ++time) {
    const error = await problemOf(use(hw));
    expect(error).toMatchObject({
      code: "ASSET_VERSION",
      message: expect.stringMatching(/could not link it: .*no room/),
    });
    expect(bits(await PLAIN["a layer"]!(hw))).toEqual(await bitsOf(PLAIN["a layer"]!));
  }
});

test("loadModel begins to load it beside the weights, and does not wait for it", async () => {
  using server = await slowServer();
  using hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1, wasm: { lateUrl: server.address } });
  const { config, weights } = settingsOf("gpt2");
  using model = await loadModel(hw, filesOf(config, weights, "F32"));
  await server.asked;
  server.answer();
  expect((await model.run(TOKENS)).logits!.shape).toEqual([TOKENS.length, 29]);
});

test("loadModel without it loads the model, whose calls say what is missing", async () => {
  using hw = await withoutLatePart();
  const { config, weights } = settingsOf("gpt2");
  using model = await loadModel(hw, filesOf(config, weights, "F32"));
  expect(await problemOf(model.run(TOKENS))).toMatchObject({ code: "ASSET_NOT_FOUND" });
});

test("headwise/worker loads it in its worker", async () => {
  using hw = await createInWorker({ variant: "simd", threads: 2 });
  for (const [, use] of late) expect(bits(await use(hw))).toEqual(await bitsOf(use));
});

test("the loader's threads are as we know them: a thread that has ended puts its worker back", async () => {
  const factory = ((await import(pathToFileURL("dist/wasm/headwise.simd.node.js").href)) as { default: Factory })
    .default;
  const module = await WebAssembly.compile(await readFile("dist/wasm/headwise.simd.wasm"));
  const wasmMemory = new WebAssembly.Memory({ initial: 256, maximum: 1024, shared: true });
  const instantiateWasm = (imports: WebAssembly.Imports, receive: Receive) => {
    void WebAssembly.instantiate(module, imports).then((instance) => receive(instance, module));
    return {};
  };
  const engine = await factory({ wasmMemory, numThreads: 3, instantiateWasm });
  await engine.pthreadPoolReady;
  const { PThread } = engine;
  const native = new engine.Engine(3, false);
  const workers = [...PThread.runningWorkers];
  expect([workers.length, PThread.unusedWorkers.length]).toEqual([2, 0]);
  native.leave();
  while (PThread.runningWorkers.length > 0) await new Promise((resolve) => setTimeout(resolve));
  expect(new Set(PThread.unusedWorkers)).toEqual(new Set(workers));
  native.enter();
  expect(new Set(PThread.runningWorkers)).toEqual(new Set(workers));
  PThread.terminateAllThreads();
});

type Receive = (instance: WebAssembly.Instance, module: WebAssembly.Module) => void;
type Factory = (options: object) => Promise<{
  readonly pthreadPoolReady: Promise<unknown>;
  readonly PThread: {
    readonly runningWorkers: readonly object[];
    readonly unusedWorkers: readonly object[];
    terminateAllThreads(): void;
  };
  readonly Engine: new (threads: number, dispatched: boolean) => { leave(): void; enter(): void };
}>;
