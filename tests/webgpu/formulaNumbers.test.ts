// The functions of formula_numbers.wgsl by themselves, against doubles.

import { beforeAll, expect, test } from "@jest/globals";

import floatBits from "../../web/src/webgpu/kernels/float_bits.wgsl";
import formulaNumbers from "../../web/src/webgpu/kernels/formula_numbers.wgsl";
import highProduct from "../../web/src/webgpu/kernels/high_product.wgsl";
import { computeWords } from "./computeWords.js";
import { describeOnGpu, plainDevice } from "./gpu.js";
import { mulberry } from "./mulberry.js";

/** Functions by their names in the shader: what they compute in double, and their largest error in units of the last place. */
const FUNCTIONS: Readonly<Record<string, { of: (a: number, b: number) => number; ulps: number; operands: 1 | 2 }>> = {
  sum_of: { of: (a, b) => a + b, ulps: 0.5, operands: 2 },
  difference_of: { of: (a, b) => a - b, ulps: 0.5, operands: 2 },
  product_of: { of: (a, b) => a * b, ulps: 0.5, operands: 2 },
  quotient_of: { of: (a, b) => a / b, ulps: 0.5, operands: 2 },
  remainder_of: { of: (a, b) => a % b, ulps: 0, operands: 2 },
  power_of: { of: (a, b) => a ** b, ulps: 3, operands: 2 },
  least_of: { of: Math.min, ulps: 0, operands: 2 },
  greatest_of: { of: Math.max, ulps: 0, operands: 2 },
  root_of: { of: Math.sqrt, ulps: 0.5, operands: 1 },
  exp_of: { of: Math.exp, ulps: 2, operands: 1 },
  log_of: { of: Math.log, ulps: 2, operands: 1 },
  tanh_of: { of: Math.tanh, ulps: 4, operands: 1 },
  sin_of: { of: Math.sin, ulps: 3, operands: 1 },
  cos_of: { of: Math.cos, ulps: 3, operands: 1 },
  floor_of: { of: Math.floor, ulps: 0, operands: 1 },
  sign_of: { of: Math.sign, ulps: 0, operands: 1 },
};
const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  is_below: (a, b) => a < b,
  is_at_most: (a, b) => a <= b,
  is_equal: (a, b) => a === b,
};

const SMALLEST = 2 ** -126;
const LARGEST = 3.4028234663852886e38;
const SPECIAL = [
  NaN,
  Infinity,
  -Infinity,
  0,
  -0,
  1,
  -1,
  2,
  0.5,
  -2,
  3,
  SMALLEST,
  -SMALLEST,
  LARGEST,
  -LARGEST,
  2 ** 24,
];

/** Pairs of float32: special ones with each other, whole numbers, all sizes, and the ranges where functions are used. */
function operands(random: () => number): [number, number][] {
  const pairs: [number, number][] = SPECIAL.flatMap((a) => SPECIAL.map((b): [number, number] => [a, b]));
  const sign = () => (random() < 0.5 ? -1 : 1);
  const around = (size: number) => sign() * size * random();
  const anySize = () => sign() * 2 ** (-126 + 253 * random());
  const whole = (most: number) => sign() * Math.floor(most * random());
  for (let n = 0; n < 20_000; ++n)
    pairs.push(
      [anySize(), anySize()],
      [around(4), around(4)],
      [around(100), around(12)],
      [2 ** around(20), around(8)],
      [1 + around(0.01), around(10_000)],
      [around(65_536), 1 + around(1)],
      [whole(2 ** 24), whole(300)],
      [whole(2 ** 12), whole(2 ** 12)],
      [whole(2 ** 24), whole(2 ** 24)],
      [(whole(2 ** 12) * Math.PI) / 4, around(2 ** 24)],
    );
  for (let n = 1; n < 4000; ++n) pairs.push([n * Math.ceil(n * random()), n], [n * n, n], [(n * Math.PI) / 2, n]);
  return pairs.map(([a, b]) => [Math.fround(a), Math.fround(b)]);
}

/** The distance to the exact result, in units of the last place of a float32 of its size. */
function ulpsOff(found: number, exact: number): number {
  if (Object.is(found, exact) || (Number.isNaN(found) && Number.isNaN(exact))) return 0;
  if (Number.isNaN(found) || Number.isNaN(exact)) return Infinity;
  if (Math.abs(exact) < SMALLEST) return Math.abs(found) <= 2 * SMALLEST ? 0 : Infinity; // subnormal numbers may be 0
  if (Math.abs(exact) > LARGEST * (1 - 2 ** -20) && Math.abs(found) > LARGEST * (1 - 2 ** -20))
    return Math.sign(found) === Math.sign(exact) ? 0 : Infinity; // overflow may come a little early
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(exact))) - 23);
  return Math.abs(found - exact) / unit;
}

describeOnGpu("the arithmetic of formulas on the GPU", () => {
  let device: GPUDevice;
  beforeAll(async () => {
    device = await plainDevice();
  });

  const pairs = operands(mulberry(7));
  const input = Float32Array.from(pairs.flat());
  const compute = (call: string) =>
    computeWords(device, floatBits + highProduct + formulaNumbers, call, new Uint32Array(input.buffer), pairs.length);

  test.each(Object.keys(FUNCTIONS))("%s is as exact as promised, NaN and infinity included", async (name) => {
    const { of, ulps, operands } = FUNCTIONS[name]!;
    const words = await compute(`${name}(${operands === 1 ? "x" : "x, y"})`);
    const found = new Float32Array(words.buffer);
    const off = pairs.map(([a, b], n) => ulpsOff(found[n]!, of(a, b)));
    const worst = off.reduce((most, each, n) => (each > off[most]! ? n : most), 0);
    if (process.env.VERBOSE) console.log(name, off[worst], pairs[worst], found[worst], of(...pairs[worst]!));
    expect({
      [`${name}(${pairs[worst]!.join(", ")})`]: found[worst],
      off: off[worst]! > ulps ? off[worst] : 0,
    }).toEqual({
      [`${name}(${pairs[worst]!.join(", ")})`]: found[worst],
      off: 0,
    });
  });

  test.each(Object.keys(COMPARISONS))("%s compares as JavaScript, NaN and infinity included", async (name) => {
    const words = await compute(`select(0u, 1u, ${name}(x, y))`);
    const wrong = pairs.filter(([a, b], n) => (words[n] === 1) !== COMPARISONS[name]!(a, b));
    expect(wrong).toEqual([]);
  });

  test("quotients and remainders of whole numbers fall on the right side of whole numbers", async () => {
    const dividends = Float32Array.from({ length: 2 * 100_000 }, (_, n) =>
      n % 2 ? 1 + (((n - 1) / 2) % 317) : Math.floor(n / 2) * 97,
    );
    const words = await computeWords(
      device,
      floatBits + highProduct + formulaNumbers,
      "floor_of(quotient_of(x, y))",
      new Uint32Array(dividends.buffer),
      100_000,
    );
    const found = new Float32Array(words.buffer);
    const wrong = found.filter((each, n) => each !== Math.floor(dividends[2 * n]! / dividends[2 * n + 1]!));
    expect([...wrong]).toEqual([]);
  });
});
