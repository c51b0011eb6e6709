import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { DisposedError, type Attention, type Layer, type LoadProgress } from "headwise";
import { createAttention } from "headwise/worker";

import { runProgram } from "./programs.js";

const dist = new URL("../../dist/", import.meta.url);

const filled = (value: number, ...shape: number[]) => ({
  data: new Float32Array(shape.reduce((n, x) => n * x, 1)).fill(value),
  shape,
});
/** Work for about a quarter of a second. */
const large = filled(1, 4096, 64);
const small = filled(1, 2, 4);

/** The result of a call, or its error. */
const ending = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "it ended well",
    (error: unknown) => error,
  );

/** The worker that is asked next. The promise resolves when it is asked. */
function nextAsked(): Promise<Worker> {
  const post = jest.spyOn(Worker.prototype, "postMessage");
  return new Promise((resolve) => {
    post.mockImplementation(function (this: Worker, ...request) {
      post.mockRestore();
      this.postMessage(...request);
      resolve(this);
    });
  });
}

describe("a call that is aborted", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ threads: 1 });
  });
  afterAll(() => hw.dispose());

  test("while it runs rejects before the worker answers; the next one waits for that answer and is right", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const into = filled(7, 4096, 64);
    const asked = nextAsked();
    const running = ending(hw.scaledDotProductAttention(large, large, large, { into, signal: controller.signal }));
    const worker = await asked;
    let answers = 0;
    const count = () => void ++answers;
    worker.on("message", count);
    controller.abort(reason);
    expect(await running).toBe(reason);
    expect(answers).toBe(0);
    const { output } = await hw.scaledDotProductAttention(small, small, small);
    expect(output.data[0]).toBe(1);
    expect(answers).toBe(2);
    worker.off("message", count);
    expect(into.data.every((x) => x === 7)).toBe(true); // the worker has finished the call, but its result was dropped
  });

  test("while it waits never starts", async () => {
    const controller = new AbortController();
    const running = hw.scaledDotProductAttention(large, large, large);
    const cache = await hw.kvCache({ numKvHeads: 1, headDim: 4 });
    const waiting = [hw.scaledDotProductAttention(large, large, large)];
    const aborted = ending(cache.append(small, small, { signal: controller.signal }));
    controller.abort();
    expect(await aborted).toMatchObject({ name: "AbortError" });
    await Promise.all([running, ...waiting]);
    expect(cache.length).toBe(0);
  });

  test("while it appends to a cache has appended", async () => {
    const cache = await hw.kvCache({ numKvHeads: 1, headDim: 64 });
    const controller = new AbortController();
    const appending = cache.append(large, large, { signal: controller.signal });
    controller.abort();
    await appending;
    expect(cache.length).toBe(4096);
    cache.dispose();
  });

  describe("while it makes something", () => {
    let worker: Attention;
    let saved: Uint8Array;
    let layer: Layer;
    const square = filled(1, 512, 512);
    const weights = { Wq: square, Wk: square, Wv: square, Wo: square };
    beforeAll(async () => {
      worker = await createAttention({ threads: 1, backend: "wasm", maximumMemory: 32 * 2 ** 20 });
      const cache = await worker.kvCache({ numKvHeads: 1, headDim: 512 });
      await cache.append(square, square, { layout: "BSE" });
      saved = await cache.save();
      cache.dispose();
      layer = await worker.multiHeadAttention({ numHeads: 1, weights });
    });
    afterAll(() => worker.dispose());

    test.each<[what: string, make: (signal?: AbortSignal) => Promise<unknown>]>([
      ["a layer", (signal) => worker.multiHeadAttention({ numHeads: 1, weights, signal })],
      ["a cache from bytes", (signal) => worker.kvCache({ from: saved, signal })],
      ["a saved call", (signal) => layer.forward(square, { save: true, signal })],
      ["a step", (signal) => worker.record((made) => ({ y: made.linear(made.input("x", [4, 512]), square) }), { signal })], // oxfmt-ignore
    ])("leaves no memory of %s behind", async (_what, make) => {
      for (let call = 0; call < 32; ++call) {
        const controller = new AbortController();
        const asked = nextAsked();
        const making = ending(make(controller.signal));
        await asked;
        controller.abort();
        expect(await making).toMatchObject({ name: "AbortError" });
      }
      type Made = { readonly dispose?: () => void; readonly saved?: { dispose(): void } };
      const made = (await make(undefined)) as Made;
      made.dispose?.();
      made.saved?.dispose();
    });
  });
});

describe("loading", () => {
  test("tells how many bytes have arrived", async () => {
    const seen: number[] = [];
    const hw = await createAttention({ threads: 1, onProgress: ({ loaded }) => seen.push(loaded) });
    hw.dispose();
    expect(seen.at(-1)).toBeGreaterThan(100_000);
  });

  test("ends with what onProgress throws", async () => {
    const thrown = new Error("the listener's own");
    const onProgress = () => {
      throw thrown;
    };
    expect(await ending(createAttention({ threads: 1, onProgress }))).toBe(thrown);
  });

  test("takes the engine's files from a folder of the caller's", async () => {
    const baseUrl = new URL("wasm/", dist);
    const hw = await createAttention({ threads: 2, wasm: { baseUrl } });
    expect((await hw.scaledDotProductAttention(small, small, small)).output.data[0]).toBe(1);
    hw.dispose();
    const nowhere = await ending(createAttention({ wasm: { baseUrl: "file:///nowhere" } }));
    expect(nowhere).toMatchObject({
      name: "AssetError",
      message: expect.stringMatching(/file:\/\/\/nowhere\/headwise/),
    });
  });

  test("happens once: later instances take the compiled file, in their own workers", async () => {
    const baseUrl = mkdtempSync(path.join(tmpdir(), "headwise-once-"));
    cpSync(fileURLToPath(new URL("wasm/", dist)), baseUrl, { recursive: true });
    const options = { threads: 1, variant: "simd", wasm: { baseUrl } } as const;
    (await createAttention(options)).dispose();
    rmSync(path.join(baseUrl, "headwise.simd.wasm"));
    const progress: LoadProgress[] = [];
    const hw = await createAttention({ ...options, onProgress: (now) => progress.push(now) });
    expect((await hw.scaledDotProductAttention(small, small, small)).output.data[0]).toBe(1);
    const loaded = expect.any(Number);
    expect(progress).toEqual([{ phase: "download", loaded, total: progress[0]!.loaded }]);
    hw.dispose();
    rmSync(baseUrl, { recursive: true });
  });

  test("that fails is the error of the worker, with what came", async () => {
    const url = new URL("wasm/none.wasm", dist).href;
    const outcome = await ending(createAttention({ wasm: { url } }));
    expect(outcome).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
    expect(String(outcome)).toContain(url);
  });

  test("stops when the signal aborts", async () => {
    const controller = new AbortController();
    const loading = ending(createAttention({ signal: controller.signal }));
    controller.abort(new Error("left"));
    expect(await loading).toMatchObject({ message: "left" });
    expect(await ending(createAttention({ signal: controller.signal }))).toMatchObject({ message: "left" });
  });
});

test("dispose rejects the call that runs and those that wait, and later ones", async () => {
  const hw = await createAttention({ threads: 1 });
  const cache = await hw.kvCache({ numKvHeads: 1, headDim: 4 });
  const calls = [hw.scaledDotProductAttention(large, large, large), cache.append(small, small)].map(ending);
  hw.dispose();
  hw.dispose();
  cache.dispose();
  for (const outcome of await Promise.all(calls)) {
    expect(DisposedError.is(outcome)).toBe(true);
    expect(outcome).toMatchObject({ code: "DISPOSED" });
  }
  expect(await ending(cache.append(small, small))).toMatchObject({ code: "DISPOSED" });
});

test("a worker that is killed in the middle of a call rejects all calls; the next call starts another", async () => {
  const { endings, started, value, afterwards } = (await runProgram("killedWorker")) as {
    endings: { name: string; code: string }[];
    started: number;
    value: number;
    afterwards: object;
  };
  expect(endings).toHaveLength(3);
  for (const { name, code } of endings) expect({ name, code }).toEqual({ name: "DisposedError", code: "WORKER_LOST" });
  expect({ started, value }).toEqual({ started: 2, value: 1 });
  expect(afterwards).toMatchObject({ code: "WORKER_LOST", message: expect.stringMatching(/^cache\.attend: .*worker/) });
});

test("a cache or a layer of a worker that has ended is not taken for one of the next worker", async () => {
  const { endings, ...others } = (await runProgram("replacedWorker")) as { endings: object[] };
  const lost = (operation: string) => ({
    code: "WORKER_LOST",
    message: expect.stringMatching(new RegExp(`^${operation}: the engine's worker ended`)),
  });
  expect(endings).toEqual([lost("layer.forward"), lost("layer.forward"), lost("record")]);
  expect(others).toEqual({ length: 0, last: "it ended well", started: 2 });
});

test("a worker whose engine stops is replaced too", async () => {
  expect(await runProgram("trappedWorker")).toEqual({ failed: { name: "HeadwiseError", code: "INTERNAL" }, value: 1 });
});

test("a worker that cannot be replaced is tried again with every call, which says what was missing", async () => {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), "headwise-reopened-")), "wasm");
  cpSync(fileURLToPath(new URL("wasm/", dist)), folder, { recursive: true });
  const { endings, started } = (await runProgram("reopened", folder)) as { endings: unknown[]; started: number };
  rmSync(path.dirname(folder), { recursive: true });
  const missing = { name: "AssetError", code: "ASSET_NOT_FOUND", operation: "scaledDotProductAttention" };
  expect(endings).toEqual([missing, missing, missing, 1]);
  expect(started).toBe(5);
});

test("an instance that is dropped without dispose ends its worker once it is collected", async () => {
  expect(await runProgram("dropped", "headwise/worker")).toEqual({ held: 3 });
});
