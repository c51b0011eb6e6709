import { describe, expect, test } from "@jest/globals";
import { createAttention } from "headwise";

import { Heap } from "../../web/src/wasm/heap.js";
import { ResultArray } from "../../web/src/wasm/resultArray.js";
import { variants } from "./engines.js";

const ADDRESS = 4096;
const LENGTH = 5000; // some pages, the last one not whole

/** A heap whose numbers from ADDRESS on are 0, 1, 2, … */
function countingHeap(): Heap {
  const memory = new WebAssembly.Memory({ initial: 2 });
  const heap = new Heap(memory, { allocate: () => ADDRESS, release: () => undefined });
  heap.write(
    ADDRESS,
    Float32Array.from({ length: LENGTH }, (_, k) => k),
  );
  return heap;
}

describe("a result", () => {
  test("has the numbers of the engine's memory at the time when it is collected, made early or not", () => {
    const heap = countingHeap();
    const late = new ResultArray(heap, ADDRESS, "float32", LENGTH);
    const early = new ResultArray(heap, ADDRESS, "float32", LENGTH);
    early.make();
    heap.write(ADDRESS, Float32Array.of(7));
    const expected = Float32Array.from({ length: LENGTH }, (_, k) => k || 7);
    expect(early.collect()).toEqual(expected);
    expect(late.collect()).toEqual(expected);
  });

  test("that JavaScript has no room for fails when it is collected, not when it is made", () => {
    const result = new ResultArray(countingHeap(), ADDRESS, "float32", 2 ** 52);
    result.make();
    expect(() => result.collect()).toThrow(RangeError);
  });
});

describe.each(variants)("results of two threads, variant %s", (variant) => {
  test("are arrays of their own, that no later call changes", async () => {
    using hw = await createAttention({ variant, threads: 2 });
    const shape = [1, 4, 128, 64]; // large enough to be copied while the other thread computes
    const inputs = [1, 2, 3].map((seed) => ({
      data: Float32Array.from({ length: 4 * 128 * 64 }, (_, k) => Math.sin(seed * (k + 1))),
      shape,
    }));
    const [a, b, c] = inputs as [(typeof inputs)[0], (typeof inputs)[0], (typeof inputs)[0]];
    const returns = { output: true, probs: true, lse: true, topK: 3 } as const;
    const arraysOf = async (...tensors: [typeof a, typeof a, typeof a]) => {
      const { output, probs, lse, topK } = await hw.scaledDotProductAttention(...tensors, { returns });
      return [output, probs, lse, topK.values, topK.indices].map(({ data }) => data);
    };
    const first = await arraysOf(a, b, c);
    const kept = first.map((data) => data.slice());
    const others = await Promise.all([arraysOf(b, c, a), arraysOf(c, a, b), arraysOf(a, b, c)]);
    expect(first).toEqual(kept);
    expect(others[2]).toEqual(kept);
    const buffers = [first, ...others].flat().map(({ buffer }) => buffer);
    expect(new Set(buffers).size).toBe(buffers.length);
    expect(buffers.map((buffer) => Object.prototype.toString.call(buffer))).toEqual(
      buffers.map(() => "[object ArrayBuffer]"),
    );
  });
});
