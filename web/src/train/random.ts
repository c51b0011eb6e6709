import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind } from "../base/typedArray.js";
import { extentsIn, assertNumber, type Floats } from "../tensor/plainTensor.js";
import { product } from "../tensor/product.js";
import { MAX_EXTENT } from "../tensor/tensor.js";
import { zeros } from "../tensor/zeros.js";

const WORD = 2 ** 32;

/** A source of random numbers. The same seed gives the same numbers on every machine, but for the last bits of normal. */
export interface Random {
  /** A number from 0 to below 1: 32 random bits. */
  readonly next: () => number;
  /** An integer from 0 to below `count`, each with the same probability. */
  readonly integer: (count: number) => number;
  /** Numbers from `low` to `high`. Default: 0 to 1. */
  readonly uniform: (shape: readonly number[], low?: number, high?: number) => Floats;
  /** Normal numbers with this standard deviation, and mean 0. Default: 1. */
  readonly normal: (shape: readonly number[], deviation?: number) => Floats;
  /** The integers from 0 to count − 1 in a random order. Its first k are k draws without replacement. */
  readonly permutation: (count: number) => Int32Array;
  /** A copy of the four words of the generator. `random(state)` goes on from here. */
  readonly state: Uint32Array;
}

/**
 * Random numbers from a seed: the generator xoshiro128** (Blackman & Vigna 2021, arXiv:1805.01407), whose first state
 * comes from the seed by four steps of SplitMix32, the finalizer of MurmurHash3. Normal numbers come by Box and Muller
 * (1958), so none is farther from 0 than 6.7 deviations; permutations by Fisher and Yates. Not for secrets.
 *
 * @param seed - An integer from 0 to 2³² − 1, or the `state` of another generator.
 */
export function random(seed: number | Uint32Array): Random {
  const state = typeof seed === "number" ? seeded(seed) : copied(seed);

  const word = () => {
    const [, s1] = state as unknown as [number, number];
    const result = Math.imul(rotated(Math.imul(s1, 5), 7), 9) >>> 0;
    state[2]! ^= state[0]!;
    state[3]! ^= state[1]!;
    state[1]! ^= state[2]!;
    state[0]! ^= state[3]!;
    state[2]! ^= s1 << 9;
    state[3] = rotated(state[3]!, 11);
    return result;
  };
  const next = () => word() / WORD;

  const integer = (count: number) => {
    assertNumber("random.integer", "count", count, "an integer from 1 to 2³²", (x) => isInteger(x, 1, WORD));
    const fair = WORD - (WORD % count); // a word below it has each remainder equally often
    let drawn = word();
    while (drawn >= fair) drawn = word();
    return drawn % count;
  };

  const filled = (operation: string, shape: readonly number[], draw: () => number): Floats => {
    const extents = guarded(operation, "shape", () => extentsIn(shape));
    if (!extents)
      throw new OptionError(`${operation}: shape must be an array of integers of 0 or more, got ${describe(shape)}`);
    if (product(extents) > MAX_EXTENT)
      throw new OptionError(`${operation}: shape must have at most ${MAX_EXTENT} elements, got ${describe(extents)}`);
    const { data } = zeros(operation, "shape", extents);
    for (let i = 0; i < data.length; i++) data[i] = draw();
    return { data, shape: extents };
  };

  return {
    next,
    integer,
    uniform: (shape, low = 0, high = 1) => {
      for (const [name, bound] of Object.entries({ low, high }))
        assertNumber("random.uniform", name, bound, "a finite number of float32", isFinite32);
      return filled("random.uniform", shape, () => low + (high - low) * next());
    },
    normal: (shape, deviation = 1) => {
      const rule = "a finite number of float32, 0 or more";
      assertNumber("random.normal", "deviation", deviation, rule, (value) => value >= 0 && isFinite32(value));
      return filled("random.normal", shape, () => {
        const radius = Math.sqrt(-2 * Math.log(1 - next()));
        return deviation * radius * Math.cos(2 * Math.PI * next());
      });
    },
    permutation: (count) => {
      assertNumber("random.permutation", "count", count, "an integer of 0 or more", (x) => isInteger(x, 0, WORD / 2));
      const order = Int32Array.from({ length: count }, (_, i) => i);
      for (let i = count - 1; i > 0; i--) {
        const j = integer(i + 1);
        [order[i], order[j]] = [order[j]!, order[i]!];
      }
      return order;
    },
    get state() {
      return state.slice();
    },
  };
}

/** Whether a number stays finite as a float32. */
const isFinite32 = (value: number) => Number.isFinite(Math.fround(value));

function isInteger(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

const rotated = (word: number, by: number) => (word << by) | (word >>> (32 - by));

function seeded(seed: number): Uint32Array {
  assertNumber("random", "seed", seed, "an integer from 0 to 2³² − 1", (value) => isInteger(value, 0, WORD - 1));
  return Uint32Array.from({ length: 4 }, (_, n) => {
    let z = (seed + Math.imul(n + 1, 0x9e3779b9)) | 0;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return z ^ (z >>> 16);
  });
}

function copied(state: unknown): Uint32Array {
  if (arrayKind(state) === "Uint32Array") {
    const words = (state as Uint32Array).slice();
    if (words.length === 4 && words.some((word) => word !== 0)) return words;
  }
  throw new OptionError(
    `random: seed must be an integer from 0 to 2³² − 1, or a generator's state: a Uint32Array of 4 words that are ` +
      `not all 0, got ${describe(state)}`,
  );
}
