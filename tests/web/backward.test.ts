import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { setFloat16 } from "@petamoriken/float16";
import fc from "fast-check";
import { createAttention, type Attention, type GradientReturns, type Tensor } from "headwise";
import { formula } from "headwise/formula";

import { attentionCases, type AttentionCase, type CaseGradient } from "./cases.js";
import { bits } from "./close.js";
import { runsOf } from "./depth.js";
import { variants } from "./engines.js";
import { standardFormulas } from "./formulaTable.js";
import { gradientProblems, type Gradients } from "./gradientProblems.js";
import { inLayout, LAYOUTS } from "./layouts.js";
import { lseGradients } from "./lseGradients.js";
import { calls, type Call } from "./randomCalls.js";
import { randomTensor } from "./randomTensor.js";
import { referenceBackward, type ReferenceGradients } from "../attention-conformance/reference/referenceBackward.js";

const RUNS = runsOf(150);

type Inputs = Pick<AttentionCase, "query" | "key" | "value"> & {
  readonly options: Omit<AttentionCase["options"], "into">;
};

/** The forward call, and then its gradients. */
async function backward(
  hw: Attention,
  { query, key, value, options }: Inputs,
  dOutput: Tensor<"float32" | "float16">,
  returns: GradientReturns,
  dLse?: Tensor<"float32">,
): Promise<Gradients> {
  const { output, lse } = await hw.scaledDotProductAttention(query, key, value, { ...options, returns: { lse: true } });
  return hw.attentionBackward({
    query,
    key,
    value,
    output,
    lse,
    dOutput,
    dLse: dLse ?? null,
    ...options,
    returns,
    location: "cpu",
  });
}

const USUAL = { dQuery: true, dKey: true, dValue: true };

const references = new Map<string, ReferenceGradients>();

function referenceOf({
  name,
  query,
  key,
  value,
  options,
  backward: { dOutput, dLse },
}: AttentionCase): ReferenceGradients {
  const known = references.get(name) ?? referenceBackward(query, key, value, dOutput, options, dLse);
  references.set(name, known);
  return known;
}

describe.each(variants)("variant %s:", (variant) => {
  let one: Attention;
  let two: Attention;
  beforeAll(async () => {
    one = await createAttention({ backend: "wasm", variant, threads: 1 });
    two = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => {
    one.dispose();
    two.dispose();
  });

  test.each(attentionCases())(
    "$name is within the error model, with the same bits on 1 and 2 threads",
    async (example) => {
      const { dOutput, dLse, returns } = example.backward;
      const gradients = await backward(one, example, dOutput, returns, dLse);
      expect(gradientProblems({ ...example, ...example.options }, returns, gradients, referenceOf(example))).toEqual(
        {},
      );
      expect(bits(await backward(two, example, dOutput, returns, dLse))).toEqual(bits(gradients));
    },
  );

  test.each(Object.entries(lseGradients))("%s", (_, use) => use(two));

  test("random calls agree with the double reference", async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.constantFrom("float32" as const, "float16" as const), async (call, dtype) => {
        const { dOutput, returns } = backwardOf(call, dtype);
        const reference = triedReference(call, dOutput);
        const result = backward(two, call, dOutput, returns);
        if (!reference) {
          await expect(result).rejects.toThrow(/sees no key|see no key/);
          return;
        }
        expect(gradientProblems({ ...call, ...call.options }, returns, await result, reference)).toEqual({});
      }),
      { numRuns: RUNS },
    );
  });

  test("four threads and none give the same bits, also in many key heads and long rows", async () => {
    const four = await createAttention({ backend: "wasm", variant, threads: 4 });
    try {
      for (const [Hq, Hkv, Sq, Skv] of [
        [6, 2, 130, 300],
        [1, 1, 513, 70],
        [3, 3, 9, 700],
      ] as const) {
        // oxfmt-ignore
        const given: Inputs = {
          query: randomTensor(1, [1, Hq, Sq, 24]),
          key: randomTensor(2, [1, Hkv, Skv, 24]),
          value: randomTensor(3, [1, Hkv, Skv, 16]),
          options: { causal: true, bias: randomTensor(4, [Hq, 1, Skv]), softcap: 3 },
        };
        const dOutput = randomTensor(5, [1, Hq, Sq, 16]);
        const returns = { dQuery: true, dKey: true, dValue: true, dBias: true, dHeadGain: true };
        const expected = bits(await backward(one, given, dOutput, returns));
        for (const hw of [two, four]) expect(bits(await backward(hw, given, dOutput, returns))).toEqual(expected);
      }
    } finally {
      four.dispose();
    }
  });

  const shape = { B: 2, Hq: 4, Hkv: 2, Sq: 19, Skv: 33 };
  const { B, Hq, Hkv, Sq, Skv } = shape;
  const tensors = {
    query: randomTensor(1, [B, Hq, Sq, 8], 2),
    key: randomTensor(2, [B, Hkv, Skv, 8], 2),
    value: randomTensor(3, [B, Hkv, Skv, 8]),
  };
  const dOutput = randomTensor(4, [B, Hq, Sq, 8]);

  test.each(standardFormulas(shape))("the formula of $name agrees with the reference", async ({ options }) => {
    const returns = { dQuery: true, dKey: true, dValue: true, dHeadGain: true, dTables: options.score !== undefined };
    const gradients = await backward(one, { ...tensors, options }, dOutput, returns);
    const { query, key, value } = tensors;
    const reference = referenceBackward(query, key, value, dOutput, options);
    expect(gradientProblems({ ...tensors, ...options }, returns, gradients, reference)).toEqual({});
  });

  const FORMULAS: readonly [text: string, parameters: Parameters<typeof formula>[1]][] = [
    ["s + t[h][q - k + 32] * s * w", { t: Array.from({ length: Hq }, (_, h) => Array.from({ length: 65 }, (_, n) => Math.sin(h + n / 7))), w: 0.25 }], // oxfmt-ignore
    ["max(s, 0.125 * s) + min(a, s) - sqrt(s * s + b2)", { a: 0.375, b2: 0.5 }],
    ["clamp(s, low, 0.5) + sin(s * f) * cos(f) + abs(s)", { low: -0.375, f: 1.5 }],
    ["pow(abs(s) + 1, e) / d + log(s * s + d)", { e: 1.25, d: 1.75 }],
    ["k > q + 14 ? -Infinity : s * 0.5 + unused * 0 + w[k % 3]", { w: [0.1, 0.2, 0.3], unused: 5 }],
    ["s > 0 ? s : a * log(s * s + 0) / sqrt(s)", { a: 2 }],
    ["0.25 * (q - k)", {}],
  ];
  test.each(FORMULAS)("the score %s", async (text, parameters) => {
    const options = { score: formula(text, parameters) };
    const returns = { dQuery: true, dKey: true, dValue: true, dTables: true };
    const gradients = await backward(two, { ...tensors, options }, dOutput, returns);
    const { query, key, value } = tensors;
    const reference = referenceBackward(query, key, value, dOutput, options);
    expect(gradientProblems({ ...tensors, ...options }, returns, gradients, reference)).toEqual({});
  });

  test("a parameter that the derivatives do not need has the gradient 0", async () => {
    const options = { score: formula("k <= q ? s + w ** 0 : -Infinity", { w: 3 }), queryOffset: 3 };
    const { dTables } = await backward(one, { ...tensors, options }, dOutput, { dTables: true });
    expect(dTables).toEqual({ w: { data: Float32Array.of(0), shape: [], dtype: "float32" } });
  });

  test("every layout, and keys and values in another one, give the same numbers", async () => {
    const { query, key, value } = tensors;
    const expected = await backward(one, { ...tensors, options: { causal: true } }, dOutput, USUAL);
    for (const layout of LAYOUTS)
      for (const kvLayout of LAYOUTS) {
        const options = { layout, kvLayout, numHeads: Hq, numKvHeads: Hkv, causal: true };
        const given = {
          query: inLayout(query, layout),
          key: inLayout(key, kvLayout),
          value: inLayout(value, kvLayout),
          options,
        };
        const { dQuery, dKey, dValue } = await backward(one, given, inLayout(dOutput, layout), USUAL);
        const [q, k, v] = [expected.dQuery, expected.dKey, expected.dValue] as Tensor<"float32">[];
        expect([layout, kvLayout, bits({ dQuery, dKey, dValue })]).toEqual([
          layout,
          kvLayout,
          bits({
            dQuery: { ...inLayout(q!, layout), dtype: "float32" },
            dKey: { ...inLayout(k!, kvLayout), dtype: "float32" },
            dValue: { ...inLayout(v!, kvLayout), dtype: "float32" },
          }),
        ]);
      }
  });

  test("each gradient alone has the bits that it has together with the others", async () => {
    const options = {
      causal: true,
      bias: randomTensor(6, [Hq, Sq, 1]),
      sinks: [0.5, 0, -1, 2],
      alibiSlopes: [0.5, 0.25, 0.125, 0],
      headGain: [1, 0.5, -1, 2],
      score: formula("s * w", { w: 1.5 }),
    };
    const names = ["dQuery", "dKey", "dValue", "dBias", "dSinks", "dHeadGain", "dAlibiSlopes", "dTables"] as const;
    const returns = Object.fromEntries(names.map((name) => [name, true]));
    const all = bits(await backward(one, { ...tensors, options }, dOutput, returns));
    for (const name of names) {
      const alone = await backward(one, { ...tensors, options }, dOutput, { [name]: true });
      expect(bits(alone)).toEqual({ [name]: all[name] });
    }
  });

  test("a step along the gradient changes the loss by what the gradient says", async () => {
    const options = { causal: true, softcap: 3, sinks: [0.5, 0, -1, 2], headGain: [1, 0.5, -1, 2] };
    const loss = async (moved: typeof tensors) => {
      const { output } = await one.scaledDotProductAttention(moved.query, moved.key, moved.value, options);
      return output.data.reduce((sum, x, n) => sum + x * dOutput.data[n]!, 0);
    };
    const gradients = (await backward(one, { ...tensors, options }, dOutput, USUAL)) as Record<string, Tensor<"float32">>; // oxfmt-ignore
    for (const [name, of] of [
      ["query", "dQuery"],
      ["key", "dKey"],
      ["value", "dValue"],
    ] as const) {
      // oxfmt-ignore
      const gradient = gradients[of]!.data;
      const size = Math.hypot(...gradient);
      const step = 2 ** -7;
      const along = (sign: number) => {
        const data = tensors[name].data.map((x, n) => x + (sign * step * gradient[n]!) / size);
        return loss({ ...tensors, [name]: { ...tensors[name], data } });
      };
      const slope = ((await along(1)) - (await along(-1))) / (2 * step);
      // the loss is a sum of 1,216 products of float32, each rounded to 2⁻²⁴: about 1e-5 of error, over 2 · 2⁻⁷
      expect(Math.abs(slope - size) / size).toBeLessThan(2e-3);
    }
  });
});

/** Cases with rows whose scores are all near −3.4e38. A float32 lse cannot say there how many keys a row sees. */
const OPEN = ["bias-mostly-hidden", "bias-mostly-minimum", "bias-only-minimum", "together-6-zero"];

test.each(attentionCases())(
  "$name: the error model bounds every gradient, unless lse cannot give the weights",
  (example) => {
    const reference = referenceOf(example);
    const wanted = Object.keys(example.backward.returns) as CaseGradient[];
    const isBound = (each: CaseGradient) => reference[each].tolerance.every(Number.isFinite);
    expect(wanted.filter((each) => !isBound(each)).length > 0).toBe(OPEN.includes(example.name));
  },
);

/** A gradient of the output for a random call, and every gradient that the call has. */
function backwardOf(call: Call, dtype: "float32" | "float16") {
  const { options, query, value } = call;
  const { bias, sinks, alibiSlopes, score } = options;
  const [q, v] = [query.shape, value.shape];
  const group = options.numHeads ? options.numHeads / options.numKvHeads! : 1;
  const shape =
    options.layout === "BES"
      ? [...q.slice(0, -2), v.at(-2)! * group, q.at(-1)!]
      : [...q.slice(0, -1), v.at(-1)! * group];
  const numbers = randomTensor(9, shape);
  // multiples of 1/64, which float16 holds
  const rounded = numbers.data.map((x) => Math.round(64 * x) / 64);
  const dOutput = dtype === "float32" ? { data: rounded, shape } : { data: halves(rounded), shape };
  return {
    dOutput: dOutput as Tensor<"float32" | "float16">,
    returns: {
      dQuery: true,
      dKey: true,
      dValue: true,
      dHeadGain: true,
      ...(bias && { dBias: true }),
      ...(sinks && { dSinks: true }),
      ...(alibiSlopes && { dAlibiSlopes: true }),
      ...(score && { dTables: true }),
    },
  };
}

function halves(numbers: Float32Array): Uint16Array {
  const view = new DataView(new ArrayBuffer(2 * numbers.length));
  numbers.forEach((x, n) => setFloat16(view, 2 * n, x, true));
  return new Uint16Array(view.buffer);
}

/** undefined if a row sees no key and the call refuses that. */
function triedReference(call: Call, dOutput: Tensor<"float32" | "float16">): ReferenceGradients | undefined {
  try {
    return referenceBackward(call.query, call.key, call.value, dOutput, call.options);
  } catch {
    return undefined;
  }
}
