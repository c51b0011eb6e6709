import { describe, expect, test } from "@jest/globals";
import { OptionError } from "headwise";
import { random } from "headwise/train";

import { thrownBy } from "./thrownBy.js";

// Bounds are five standard deviations of each statistic: chance alone breaks one in 2 million times. Seeds are fixed.
const SIGMAS = 5;
const N = 100_000;

describe("random", () => {
  test("is xoshiro128**: the words after the state 1, 2, 3, 4 are those of its reference code", () => {
    const { next } = random(Uint32Array.of(1, 2, 3, 4));
    const words = Array.from({ length: 4 }, () => next() * 2 ** 32);
    expect(words).toEqual([11520, 0, 5927040, 70819200]);
  });

  test("gives the same numbers for a seed, others for another, and goes on from its state", () => {
    const [a, b, c] = [random(7), random(7), random(8)];
    expect(a.uniform([5])).toEqual(b.uniform([5]));
    expect(a.uniform([5])).not.toEqual(c.uniform([5]));
    const later = random(a.state);
    expect(later.permutation(20)).toEqual(a.permutation(20));
  });

  test("uniform numbers fill their range evenly", () => {
    const { data } = random(1).uniform([N], -1, 3);
    expect(data.every((x) => x >= -1 && x <= 3)).toBe(true);
    const counts = new Float64Array(16);
    for (const x of data) counts[Math.min(Math.floor((x + 1) * 4), 15)]! += 1;
    const deviation = Math.sqrt((N / 16) * (15 / 16));
    for (const count of counts) expect(Math.abs(count - N / 16)).toBeLessThan(SIGMAS * deviation);
  });

  test("normal numbers have the moments of a normal distribution, and no memory", () => {
    const { data, shape } = random(2).normal([N / 10, 10], 0.5);
    expect(shape).toEqual([N / 10, 10]);
    const scaled = Array.from(data, (x) => x / 0.5);
    const mean = (of: (x: number, n: number) => number) => scaled.reduce((sum, x, n) => sum + of(x, n), 0) / N;
    const within = (value: number, expected: number, variance: number) =>
      expect(Math.abs(value - expected)).toBeLessThan(SIGMAS * Math.sqrt(variance / N));
    within(
      mean((x) => x),
      0,
      1,
    );
    within(
      mean((x) => x ** 2),
      1,
      2,
    ); // the variance of x² is E x⁴ − 1 = 2
    within(
      mean((x) => x ** 3),
      0,
      15,
    );
    within(
      mean((x) => x ** 4),
      3,
      96,
    ); // E x⁸ − 9 = 105 − 9
    within(
      mean((x) => Number(Math.abs(x) < 1)),
      0.6826895,
      0.6826895 * 0.3173105,
    );
    within(
      mean((x, n) => x * (scaled[n + 1] ?? 0)),
      0,
      1,
    );
  });

  test("integers below a count come equally often, also where 2³² is no multiple of it", () => {
    const { integer } = random(3);
    const counts = new Float64Array(7);
    for (let n = 0; n < N; n++) counts[integer(7)]! += 1;
    for (const count of counts) expect(Math.abs(count - N / 7)).toBeLessThan(SIGMAS * Math.sqrt((N / 7) * (6 / 7)));
    const large = 3 * 2 ** 30; // without rejection the lower third would come twice as often
    let low = 0;
    for (let n = 0; n < N; n++) low += Number(integer(large) < large / 3);
    expect(Math.abs(low - N / 3)).toBeLessThan(SIGMAS * Math.sqrt((N / 3) * (2 / 3)));
  });

  test("permutations have every number once, and each number in each place equally often", () => {
    const { permutation } = random(4);
    expect([...permutation(100)].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect([permutation(0).length, permutation(1)[0]]).toEqual([0, 0]);
    const counts = new Float64Array(24);
    const rounds = 24_000;
    for (let n = 0; n < rounds; n++) {
      const [a, b, c] = permutation(4) as unknown as [number, number, number];
      counts[a * 6 + (b - Number(b > a)) * 2 + (c - Number(c > a) - Number(c > b) > 0 ? 1 : 0)]! += 1;
    }
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(SIGMAS * Math.sqrt(1000 * (23 / 24)));
  });

  test("refuses seeds, counts and shapes that are none", () => {
    const { integer, normal, permutation, uniform } = random(0);
    const refused: readonly [() => unknown, string][] = [
      [() => random(-1), "random: seed must be an integer from 0 to 2³² − 1, got -1"],
      [() => random(0.5), "random: seed must be"],
      [() => random(new Uint32Array(4)), "a Uint32Array of 4 words that are not all 0"],
      [() => random("1" as never), 'got "1"'],
      [() => integer(0), "random.integer: count must be an integer from 1 to 2³², got 0"],
      [() => permutation(-1), "random.permutation: count must be an integer of 0 or more, got -1"],
      [() => normal(3 as never), "random.normal: shape must be an array of integers of 0 or more, got 3"],
      [() => normal([2], NaN), "random.normal: deviation must be a finite number of float32, 0 or more, got NaN"],
      [() => normal([2], -1), "random.normal: deviation must be a finite number of float32, 0 or more, got -1"],
      [() => normal([2], null as never), "random.normal: deviation must be"],
      [() => uniform([2], "a" as never), 'random.uniform: low must be a finite number of float32, got "a"'],
      [() => uniform([2], 0, Infinity), "random.uniform: high must be a finite number of float32, got Infinity"],
      [() => uniform([2], -1e39, 0), "random.uniform: low must be a finite number of float32, got -1e+39"],
      [() => normal([2], 1e39), "random.normal: deviation must be a finite number of float32, 0 or more, got 1e+39"],
    ];
    for (const [call, message] of refused) {
      const error = thrownBy(call);
      expect(error.message).toContain(message);
      expect(OptionError.is(error)).toBe(true);
    }
  });
});
