import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { describe, expect, test } from "@jest/globals";
import { createAttention, OutOfMemoryError } from "headwise";

import { bits, float32Of } from "./close.js";
import { variants } from "./engines.js";
import { runProgram as run, runWith } from "./programs.js";

const { sin } = Math; // looked up once: a test runner's sandbox is slow to find globals

const floats = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => sin(k + 1)),
  shape,
});

describe("a process that uses headwise", () => {
  const entries = ["headwise", "headwise/worker", "headwise/inline"];
  const endings = entries.flatMap(
    (entry) =>
      [
        [entry, "dispose"],
        [entry, "no dispose"],
      ] as const,
  );

  test.each(endings)("(%s, %s) ends by itself: no timer and no listener is left on it", async (entry, ending) => {
    const { first, before, during, timers } = (await run("exit", entry, ending)) as Record<string, unknown>;
    expect({ first, during, timers }).toEqual({ first: 1, during: before, timers: 0 });
  });

  test.each(entries)(
    "(%s) has no worker left of instances that were given up, or failed, while they loaded",
    async (entry) => {
      const loader = `
      import create from ${JSON.stringify(new URL("../../dist/wasm/headwise.simd.node.js", import.meta.url).href)};
      export default (options) => {
        const { instantiateWasm } = options;
        options.instantiateWasm = (_, receive) => instantiateWasm({}, receive); // once the threads have been started
        return create(options);
      };`;
      const folder = mkdtempSync(path.join(tmpdir(), "headwise-loader-"));
      const file = path.join(folder, "failing.mjs");
      writeFileSync(file, loader);
      const isInline = entry === "headwise/inline";
      const left = (await run("givenUp", entry, ...(isInline ? [] : [pathToFileURL(file).href]))) as {
        endings: string[];
      };
      rmSync(folder, { recursive: true });
      expect(left).toMatchObject({ workers: 0, ...(!isInline && { failed: "ASSET_VERSION" }) });
      expect(left.endings).toContain("given up");
    },
  );

  test.each(entries)("(%s) goes on if the instance is disposed after a part of a cache was read", async (entry) => {
    expect(await run("readPart", entry)).toEqual({ key: [1, 2, 3, 4] });
  });

  test.each(entries)("(%s) needs no FinalizationRegistry", async (entry) => {
    expect(await run("noRegistry", entry)).toEqual({ value: 1 });
  });

  test.each(entries)("(%s) computes where the objects of the language are frozen", async (entry) => {
    const flags = ["--frozen-intrinsics", "--no-warnings"];
    expect(await runWith(flags, "frozen", entry)).toEqual({ output: 1, probs: [1, 0, 0.5, 0.5], attended: 1 });
  });

  test("has the threads that it asked for", async () => {
    expect(await run("once")).toEqual({ first: 1, threads: 2 });
  });

  test("ends when an instance was made and never used", async () => {
    expect(await run("unused")).toEqual({ threads: 2 });
  });
});

describe("memory", () => {
  test("12,000 calls of many shapes leave the engine's memory and the JavaScript heap flat", async () => {
    const { memories, seen } = (await run("manyCalls")) as { memories: number; seen: Sizes[] };
    expect(memories).toBe(1);
    expect(seen[0]!.engine).toBeGreaterThan(0);
    expect(seen.map(({ engine }) => engine)).toEqual(seen.map(() => seen[0]!.engine));
    // A leak makes the heap grow in each third of the 12,000 calls. Growth by the code and caches of V8 is not in each
    // third.
    const growths = seen.slice(1).map(({ heap }, third) => heap - seen[third]!.heap);
    expect(Math.min(...growths)).toBeLessThan(128 * 1024);
  });

  test("20 instances, made and disposed, leave neither memory nor threads behind", async () => {
    const left = (await run("manyInstances")) as { heap: number; resident: number };
    expect(left.heap).toBeLessThan(4 * 2 ** 20);
    expect(left.resident).toBeLessThan(100 * 2 ** 20);
  });

  test("an instance that is dropped without dispose ends its threads once it is collected", async () => {
    expect(await run("dropped")).toEqual({ held: 3 });
  });
});

test.each(["headwise", "headwise/worker", "headwise/inline"])(
  "%s: a call keeps its instance from being collected until it has settled",
  async (entry) => {
    expect(await run("heldByCall", entry)).toEqual({ attention: "it ended well", save: "it ended well" });
  },
);

interface Sizes {
  readonly engine: number;
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

  test("calls are refused if the memory is full, and computed when there is room again", async () => {
    const hw = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 16 * 2 ** 20 });
    const held = [];
    for (let length = 2 ** 22; length >= 1;)
      try {
        held.push(hw.allocate([length]));
      } catch {
        length = Math.floor(length / 2);
      }
    const x = floats(64, 128); // larger than what small calls share
    const calls = [
      () => hw.scaledDotProductAttention(x, x, x),
      () => hw.rotaryEmbedding(x),
      () => hw.mergeAttention([{ output: x, lse: floats(64) }]),
      () => hw.kvCache({ numKvHeads: 1, headDim: 8 }),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "OUT_OF_MEMORY" });
    for (const tensor of held) tensor.dispose();
    for (const call of calls) await expect(call()).resolves.toBeDefined();
    hw.dispose();
  });

  test("calls of growing size are computed correctly or refused; none traps", async () => {
    const hw = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 24 * 2 ** 20 });
    const small = floats(1, 2, 33, 16);
    const known = async () => bits(await hw.scaledDotProductAttention(small, small, small));
    const before = await known();
    const outcomes = new Set<string>();
    for (let S = 256; S < 40_000; S = Math.ceil(S * 1.3)) {
      const query = floats(1, 1, 8, 128);
      const ones = { data: new Float32Array(S * 128).fill(1), shape: [1, 1, S, 128] };
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
  expect(Object.prototype.toString.call(float32Of(output).buffer)).toBe("[object ArrayBuffer]");
});
