import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { describe, expect, test } from "@jest/globals";
import { createAttention, OutOfMemoryError } from "headwise";

import { bits, float32Of } from "./close.js";
import { variants } from "./engines.js";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a module in a Node of its own; what it prints is JSON. Rejects if it does not end by itself in time. */
async function inChild(source: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv.filter((flag) => flag.includes("wasm")), "--expose-gc", "--input-type=module", "-e", source],
    { cwd: repository, timeout: 60_000 },
  );
  return JSON.parse(stdout);
}

const floats = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => Math.sin(k + 1)),
  shape,
});

describe("a process that uses headwise", () => {
  const program = (end: string) => `
    import { createAttention } from "headwise";
    const hw = await createAttention({ threads: 2 });
    const x = { data: new Float32Array(64 * 8).fill(1), shape: [64, 8] };
    const { output } = await hw.scaledDotProductAttention(x, x, x);
    ${end}
    console.log(JSON.stringify({ first: output.data[0], threads: hw.report.threads }));
  `;

  test("ends by itself after dispose", async () => {
    expect(await inChild(program("hw.dispose();"))).toEqual({ first: 1, threads: 2 });
  });

  test("ends by itself without dispose: pool threads do not keep it alive", async () => {
    expect(await inChild(program(""))).toEqual({ first: 1, threads: 2 });
  });

  test("ends by itself when an instance was made and never used", async () => {
    expect(
      await inChild(`import { createAttention } from "headwise"; await createAttention(); console.log("1");`),
    ).toBe(1);
  });
});

describe("memory", () => {
  test("1,000 calls of many shapes leave the engine's memory and the JavaScript heap flat", async () => {
    const measured = (await inChild(`
      const memories = [];
      WebAssembly.Memory = class extends WebAssembly.Memory {
        constructor(descriptor) { super(descriptor); memories.push(this); }
      };
      const { createAttention } = await import("headwise");
      const hw = await createAttention({ threads: 2 });
      const call = (n) => {
        const [Sq, Skv, D] = [1 + (n % 37), 1 + (n % 211), 1 + (n % 50)];
        const x = (S) => ({ data: new Float32Array(2 * S * D).fill(1), shape: [1, 2, S, D] });
        return hw.scaledDotProductAttention(x(Sq), x(Skv), x(Skv), {
          causal: n % 2 === 0, returns: { probs: n % 3 === 0, lse: true, topK: n % 5 === 0 ? 3 : undefined },
        });
      };
      const size = () => {
        gc();
        return { wasm: memories.reduce((bytes, { buffer }) => bytes + buffer.byteLength, 0), heap: process.memoryUsage().heapUsed };
      };
      // every shape once, so that what grows to its largest has grown
      for (let n = 0; n < 600; ++n) await call(n);
      const before = size();
      for (let n = 0; n < 1000; ++n) await call(n);
      const after = size();
      console.log(JSON.stringify({ memories: memories.length, before, after }));
    `)) as { memories: number; before: Size; after: Size };
    expect(measured.memories).toBe(1);
    expect(measured.before.wasm).toBeGreaterThan(0);
    expect(measured.after.wasm).toBe(measured.before.wasm);
    expect(measured.after.heap - measured.before.heap).toBeLessThan(512 * 1024);
  }, 60_000);

  test("20 instances, made and disposed, leave no memory or thread behind", async () => {
    const measured = (await inChild(`
      import { createAttention } from "headwise";
      const x = { data: new Float32Array(64).fill(1), shape: [8, 8] };
      const cycle = async () => {
        const hw = await createAttention({ threads: 2, maximumMemory: 64 * 2 ** 20 });
        await hw.scaledDotProductAttention(x, x, x);
        hw.dispose();
      };
      const settle = async () => { await new Promise((done) => setTimeout(done, 300)); gc(); };
      for (let n = 0; n < 3; ++n) await cycle();
      await settle();
      const before = process.memoryUsage();
      for (let n = 0; n < 20; ++n) await cycle();
      await settle();
      const after = process.memoryUsage();
      console.log(JSON.stringify({ heap: after.heapUsed - before.heapUsed, resident: after.rss - before.rss }));
    `)) as { heap: number; resident: number };
    expect(measured.heap).toBeLessThan(4 * 2 ** 20);
    expect(measured.resident).toBeLessThan(150 * 2 ** 20);
  }, 60_000);
});

interface Size {
  readonly wasm: number;
  readonly heap: number;
}

describe.each(variants)("variant %s with a small maximumMemory", (variant) => {
  test("a call that does not fit is an OutOfMemoryError, again and again, and the instance stays usable", async () => {
    const hw = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 32 * 2 ** 20 });
    const small = floats(1, 2, 33, 16);
    const known = async () => bits(await hw.scaledDotProductAttention(small, small, small, { causal: true }));
    const before = await known();
    const large = floats(1, 1, 60_000, 64);
    for (let n = 0; n < 20; ++n) {
      const reason: unknown = await hw.scaledDotProductAttention(large, large, large).then(
        () => "it fitted",
        (thrown: unknown) => thrown,
      );
      expect(OutOfMemoryError.is(reason)).toBe(true);
      expect(await known()).toEqual(before);
    }
    hw.dispose();
  });

  test("of calls of growing size, each is computed right or refused: no trap at any size", async () => {
    const hw = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 24 * 2 ** 20 });
    const small = floats(1, 2, 33, 16);
    const known = async () => bits(await hw.scaledDotProductAttention(small, small, small));
    const before = await known();
    const outcomes = new Set<string>();
    for (let S = 256; S < 40_000; S = Math.ceil(S * 1.3)) {
      const query = floats(1, 1, 8, 32);
      const ones = { data: new Float32Array(S * 32).fill(1), shape: [1, 1, S, 32] };
      const outcome = await hw.scaledDotProductAttention(query, ones, ones).then(
        ({ output }) => (float32Of(output).every((x) => Math.abs(x - 1) < 1e-5) ? "right" : `wrong at ${S}`),
        (reason: unknown) => (OutOfMemoryError.is(reason) ? "refused" : String(reason)),
      );
      outcomes.add(outcome);
    }
    expect([...outcomes].sort()).toEqual(["refused", "right"]);
    expect(await known()).toEqual(before);
    hw.dispose();
  });
});

test("results are the caller's own: they survive the engine's growth and its end", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1 });
  const x = floats(16, 8);
  const { output } = await hw.scaledDotProductAttention(x, x, x);
  const copy = float32Of(output).slice();
  const large = floats(1, 1, 30_000, 128);
  await hw.scaledDotProductAttention(floats(1, 1, 1, 128), large, large);
  hw.dispose();
  expect(output.data).toEqual(copy);
  expect(output.data.buffer).toBeInstanceOf(ArrayBuffer);
});
