import { expect } from "@jest/globals";
import fc from "fast-check";
import { OptionError, type Attention, type AttendOptions, type KvCache } from "headwise";

import { ModelCache, tokenElement, type CacheShape } from "./modelCache.js";
import { randomTensor } from "./randomTensor.js";
import { referenceAttention, type ReferenceOptions } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "./resultProblems.js";

const plainShapes: fc.Arbitrary<CacheShape> = fc.record(
  {
    batchSize: fc.integer({ min: 1, max: 3 }),
    numKvHeads: fc.integer({ min: 1, max: 2 }),
    headDim: fc.integer({ min: 1, max: 9 }),
    valueDim: fc.integer({ min: 1, max: 9 }),
    dtype: fc.constantFrom("float32" as const, "float16" as const),
    ring: fc.record({ keepFirst: fc.nat(5), window: fc.integer({ min: 1, max: 70 }) }),
  },
  { requiredKeys: ["batchSize", "numKvHeads", "headDim", "valueDim", "dtype"] },
);

/** Rings whose positions are places. Turning rounds keys, so they stay float32. */
const placesShapes: fc.Arbitrary<CacheShape> = fc
  .tuple(plainShapes, fc.integer({ min: 1, max: 4 }), fc.nat(5), fc.integer({ min: 1, max: 70 }))
  .map(([shape, pairs, keepFirst, window]) => ({
    ...shape,
    headDim: 2 * pairs,
    dtype: "float32" as const,
    ring: { keepFirst, window, positions: "cache" as const },
    rotary: { base: 50 },
  }));

const shapes = fc.oneof({ weight: 3, arbitrary: plainShapes }, { weight: 1, arbitrary: placesShapes });

const KINDS = [
  "append",
  "append",
  "append",
  "attend",
  "attend",
  "attend",
  "rewind",
  "select",
  "keep",
  "fork",
  "slice",
  "save",
] as const;

/** A random step. `numbers` and `cache` are taken modulo the lengths and the number of caches. */
interface Step {
  readonly kind: (typeof KINDS)[number];
  readonly cache: number;
  readonly numbers: readonly number[];
  readonly options: Omit<AttendOptions, "location">;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    cache: fc.nat(10),
    numbers: fc.array(fc.nat(90), { minLength: 4, maxLength: 4 }),
    options: fc.record(
      {
        causal: fc.constantFrom(true, "upper-left" as const, "lower-right" as const),
        window: fc.record({ left: fc.nat(40), right: fc.nat(10) }, { requiredKeys: [] }),
        excludeSelf: fc.boolean(),
        softcap: fc.constantFrom(0, 2),
        emptyRows: fc.constantFrom("zero" as const, "nan" as const, "uniform" as const),
      },
      { requiredKeys: [] },
    ),
  }),
  { minLength: 3, maxLength: 14 },
);

const RETURNS = { lse: true, entropy: true, probs: true, topK: 3, scores: "biased" } as const;

/** Does random steps with caches and with lists, and compares a cache with its list after each step. */
export async function expectCachesToBeLists(hw: Attention, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(shapes, steps, async (shape, allSteps) => {
      const pairs: Pair[] = [{ cache: await hw.kvCache(shape), model: ModelCache.empty(shape) }];
      for (const [n, step] of allSteps.entries()) {
        const pair = pairs[step.cache % pairs.length]!;
        const added = await take(hw, step, n, pair);
        if (added) pairs.push(added);
        for (const { cache, model } of pairs) {
          expect(cache.lengths).toEqual(model.lengths);
          expect(cache.appended).toEqual(model.appended);
        }
      }
      for (const { cache } of pairs) cache.dispose();
    }),
    { numRuns },
  );
}

interface Pair {
  readonly cache: KvCache;
  readonly model: ModelCache;
}

/** Does one step on both sides. Returns the new pair if the step makes one. */
async function take(hw: Attention, step: Step, n: number, { cache, model }: Pair): Promise<Pair | undefined> {
  const { batchSize } = model.shape;
  const [first, second] = step.numbers as [number, number];
  const length = Math.max(0, ...model.lengths);
  switch (step.kind) {
    case "append":
      await append(cache, model, 10_000 * (n + 1), step.numbers.slice(0, batchSize));
      return undefined;
    case "attend": {
      // often as many rows as the last append had, so that they count as its tokens
      const rows = (second % 2 === 0 && model.lastRows) || 1 + (first % 7);
      expect(await attendProblems(cache, model, rows, n, step.options)).toEqual({});
      return undefined;
    }
    case "rewind": {
      const lengths = model.appended.map((end, b) => Math.max(0, end - (step.numbers[b]! % 40)));
      if (model.canRewind(lengths)) {
        await cache.rewind(lengths);
        model.rewind(lengths);
      } else await expectRefused(cache.rewind(lengths));
      return undefined;
    }
    case "select": {
      const indices = step.numbers.slice(0, batchSize).map((number) => number % batchSize);
      await cache.select(indices);
      model.select(indices);
      return undefined;
    }
    case "keep": {
      const from = model.appended.map((end, b) => Math.max(0, end - (step.numbers[b]! % 40)));
      const every = 1 + (first % 4); // leaves out every row, every second, third or fourth one
      const rows = model.appended.map((end, b) =>
        Array.from({ length: end - from[b]! }, (_, row) => row).filter((row) => (row + second) % every !== 0),
      );
      if (model.canShrink(from.map((start, b) => start + rows[b]!.length))) {
        await cache.keep(from, rows);
        model.keep(from, rows);
      } else await expectRefused(cache.keep(from, rows));
      return undefined;
    }
    case "fork":
      return { cache: await cache.fork(), model: model.fork() };
    case "slice": {
      const from = first % (length + 1);
      const to = from + (second % (length - from + 1));
      if (!model.canSlice(from, to)) {
        await expect(cache.slice(from, to)).rejects.toThrow("a slice must not have tokens before and after row");
        return undefined;
      }
      return { cache: await cache.slice(from, to), model: model.slice(from, to) };
    }
    case "save":
      return { cache: await hw.kvCache({ from: await cache.save() }), model: model.loaded() };
  }
}

async function expectRefused(call: Promise<void>): Promise<void> {
  const reason: unknown = await call.then(
    () => "it was not refused",
    (thrown: unknown) => thrown,
  );
  expect(OptionError.is(reason)).toBe(true);
}

async function append(cache: KvCache, model: ModelCache, firstNumber: number, lengths: number[]): Promise<void> {
  const { batchSize, numKvHeads, headDim, valueDim } = model.shape;
  const tokens = Math.max(...lengths);
  const side = (name: "key" | "value", width: number) => {
    const shape = [batchSize, numKvHeads, tokens, width];
    const data = Float32Array.from({ length: batchSize * numKvHeads * tokens * width }, (_, k) => {
      const d = k % width;
      const s = Math.floor(k / width) % tokens;
      const g = Math.floor(k / (width * tokens)) % numKvHeads;
      const b = Math.floor(k / (width * tokens * numKvHeads));
      return tokenElement(name, firstNumber + 1000 * b + s, g, d);
    });
    return { data, shape };
  };
  await cache.append(side("key", headDim), side("value", valueDim), { lengths });
  model.append(firstNumber, lengths);
}

/** @param turns - Whether queries are turned by their positions. */
function countsPositions({ causal, window, excludeSelf }: AttendOptions, turns: boolean): boolean {
  if (causal !== undefined) return causal !== "upper-left";
  if (turns) return true;
  return window?.left !== undefined || window?.right !== undefined || excludeSelf === true;
}

async function attendProblems(
  cache: KvCache,
  model: ModelCache,
  queries: number,
  seed: number,
  options: Omit<AttendOptions, "location">,
): Promise<Record<string, string[]>> {
  const { batchSize, numKvHeads, headDim } = model.shape;
  const query = randomTensor(seed, [batchSize, 2 * numKvHeads, queries, headDim], 2);
  const queryLengths = model.queryLengths(queries, countsPositions(options, model.shape.rotary !== undefined));
  if (model.missesDropped(queries, options, queryLengths)) {
    await expect(cache.attend(query, options)).rejects.toThrow("the ring has dropped those before");
    return {};
  }
  const call = model.asCall(queryLengths, options.causal);
  const turned = model.asQueries(query, queryLengths, options.causal);
  const reference = referenceAttention(turned, call.key, call.value, {
    ...(options as ReferenceOptions),
    ...call.options,
    turns: model.shape.rotary ? 4 : 0, // of the query, of the key, and if `keep` has moved the key
  });
  return resultProblems(await cache.attend(query, { ...options, returns: RETURNS }), RETURNS, reference);
}
