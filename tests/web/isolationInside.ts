// What no row sees changes no bit of gradients, and none of what caches, layers and recorded steps compute: for every option
// and engine.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { toFloat32, type Attention, type Tensor } from "headwise";

import { bits } from "./close.js";
import { parametersOf } from "./depth.js";
import { hiddenBias, keysSeen, poisoned, poisonRows, rowsOf } from "./poison.js";
import { calls, fullCalls, type Call } from "./randomCalls.js";
import { randomTensor } from "./randomTensor.js";
import { endsAfterHidden, HIDING_OPTIONS, HIDINGS, othersBeside } from "./stepIsolation.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";

/** What shows which pairs are visible, and all that depends on them. */
const RETURNS = { lse: true, entropy: true, probs: true, topK: 3, scores: "biased" } as const;

type Floats = Tensor<"float32">;
type Extents = readonly [B: number, H: number, S: number, width: number];

/**
 * Makes the tests of an engine.
 *
 * @param usual - The number of random calls if the environment names none.
 * @param seeded - A seed with which all tests draw the same calls: a GPU compiles their kernels once.
 */
export function insideIsolationTests(
  create: () => Promise<Attention>,
  usual: number,
  seeded: { seed?: number } = {},
): void {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
  });
  afterAll(() => hw.dispose());
  const parameters = { ...seeded, ...parametersOf(usual) };
  /** For steps, whose kernels a GPU compiles for them alone. */
  const third = { ...parameters, numRuns: Math.ceil(parameters.numRuns / 3) };

  test("gradients: NaN and Inf in hidden keys and values, in hidden pairs of the bias and in rows without keys", async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.nat(2), async (call, which) => {
        const options = { ...call.options, emptyRows: "zero" } as const;
        const { layout, bias, sinks, alibiSlopes } = options;
        const reference = referenceAttention(call.query, call.key, call.value, options);
        const { B, Hq, Sq, Skv, Dv } = reference.shape;
        const forward = { ...options, returns: { lse: true } } as const;
        const { output, lse } = await hw.scaledDotProductAttention(call.query, call.key, call.value, forward);
        const given = { query: call.query, key: call.key, value: call.value, output, lse };
        const dOutput = randomTensor(9, output.shape);
        const isSeen = keysSeen(reference);
        const isHidden = (b: number, g: number, j: number) => !isSeen(b, g, j);
        const seesKey = rowsOf(reference).map(({ index }) =>
          reference.biased.values.slice(index * Skv, (index + 1) * Skv).some((score) => score !== -Infinity),
        );
        const isEmpty = (b: number, h: number, i: number) => !seesKey[(b * Hq + h) * Sq + i];
        const ofRows = <T extends Tensor>(tensor: T) => poisoned(tensor, layout, [B, Hq, Sq, Dv], isEmpty, which);
        const hidden = {
          query: poisonRows(call, "query", reference, isEmpty, which),
          key: poisonRows(call, "key", reference, isHidden, which),
          value: poisonRows(call, "value", reference, isHidden, which),
          output: ofRows(output),
          lse: poisoned(lse as Floats, "BHSD", [B, Hq, Sq, 1], isEmpty, which),
          dOutput: ofRows(dOutput),
          ...(bias && { bias: hiddenBias(call, which) }),
        };
        const returns = {
          ...{ dQuery: true, dKey: true, dValue: true, dHeadGain: true },
          ...(bias && { dBias: true }),
          ...(sinks && { dSinks: true }),
          ...(alibiSlopes && { dAlibiSlopes: true }),
        };
        const gradients = async (inputs: object) =>
          bits(await hw.attentionBackward({ ...options, ...given, dOutput, ...inputs, returns })); // oxfmt-ignore
        expect(await gradients(hidden)).toEqual(await gradients({}));
      }),
      parameters,
    );
  });

  const dtypes = fc.constantFrom("float32", "float16", "int8");
  test("caches: NaN and Inf in tokens that no row sees, and in rows behind the lengths of an append", async () => {
    await fc.assert(
      fc.asyncProperty(fullCalls, dtypes, fc.boolean(), fc.nat(2), async (call, dtype, turns, which) => {
        const { query, options } = call;
        const [batchSize, numKvHeads, Skv, headDim] = call.key.shape as [number, number, number, number];
        const valueDim = call.value.shape[3]!;
        const { keyLengths, returns: _, ...rest } = options;
        const lengths = (keyLengths as number[] | undefined)?.map((length, b) => (b === 0 ? Skv : length));
        const rotary = turns && headDim % 2 === 0 ? { rotary: {} } : {};
        const attended = async (key: Call["key"], value: Call["value"]) => {
          using cache = await hw.kvCache({ batchSize, numKvHeads, headDim, valueDim, dtype, ...rotary });
          await cache.append(key, value, { layout: "BHSD", ...(lengths && { lengths }) });
          return cache.attend(query, { ...rest, emptyRows: "zero", returns: RETURNS });
        };
        const clean = await attended(call.key, call.value);
        const isHidden = hiddenIn(clean.scores, numKvHeads);
        const hide = <T extends Tensor>(tensor: T, width: number) =>
          poisoned(tensor, "BHSD", [batchSize, numKvHeads, Skv, width] satisfies Extents, isHidden, which);
        const dirty = await attended(hide(call.key, headDim), hide(call.value, valueDim));
        expect(bits(dirty)).toEqual(bits(clean));
      }),
      parameters,
    );
  });

  const positions = fc.constantFrom(undefined, { kind: "rotary" } as const);
  const weightDtypes = fc.constantFrom("as-given", "int8");
  test("layers and their gradients: NaN and Inf in tokens of the context that no row of any head sees", async () => {
    await fc.assert(
      fc.asyncProperty(fullCalls, positions, weightDtypes, fc.nat(2), async (call, position, weightDtype, which) => {
        const { returns: _, layout: __, ...rest } = call.options;
        const [B, numHeads, Sq] = call.query.shape as [number, number, number];
        const [, numKvHeads, Skv] = call.key.shape as [number, number, number];
        const [inputDim, keyInputDim, headDim] = [12, 10, 6];
        const modelDim = numHeads * headDim;
        const weights = {
          Wq: randomTensor(1, [inputDim, modelDim]),
          Wk: randomTensor(2, [keyInputDim, numKvHeads * headDim]),
          Wv: randomTensor(3, [keyInputDim, numKvHeads * headDim]),
          Wo: randomTensor(4, [modelDim, inputDim]),
        };
        const ends = { ...(position && { position }), ...(weightDtype === "int8" && { weightDtype }) };
        const shape = {
          inputDim,
          keyInputDim,
          valueInputDim: keyInputDim,
          modelDim,
          outputDim: inputDim,
          numHeads,
          numKvHeads,
        };
        using layer = await hw.multiHeadAttention({ ...shape, weights, ...ends });
        const x = randomTensor(5, [B, Sq, inputDim]);
        const dOutput = randomTensor(6, [B, Sq, inputDim]);
        const computed = async (context: Floats) => {
          const options = { ...rest, key: context, emptyRows: "zero" } as const;
          const result = await layer.forward(x, { ...options, returns: RETURNS });
          const { saved } = await layer.forward(x, { ...options, save: true });
          return { result, gradients: await layer.backward(saved, dOutput) };
        };
        const context: Floats = randomTensor(7, [B, Skv, keyInputDim]);
        const clean = await computed(context);
        const isHiddenFrom = hiddenIn(clean.result.scores, numKvHeads);
        const isHidden = (b: number, _h: number, j: number) =>
          Array.from({ length: numKvHeads }, (_, g) => g).every((g) => isHiddenFrom(b, g, j));
        const dirty = await computed(poisoned(context, "BSHD", [B, 1, Skv, keyInputDim], isHidden, which));
        expect(bits(dirty)).toEqual(bits(clean));
      }),
      parameters,
    );
  });

  test("steps: NaN and Inf in hidden keys, values and pairs of the bias, and in the run before", async () => {
    await fc.assert(
      fc.asyncProperty(fullCalls, fc.nat(2), async (call, which) => {
        const { returns: _, layout: __, ...rest } = call.options;
        const options = { ...rest, emptyRows: "zero" } as const;
        const [query, key, value] = [call.query, call.key, call.value].map(toFloat32) as [Floats, Floats, Floats];
        const isSeen = keysSeen(referenceAttention(call.query, call.key, call.value, options));
        const isHidden = (b: number, g: number, j: number) => !isSeen(b, g, j);
        const dirty = (tensor: Floats, isTarget: typeof isHidden) =>
          poisoned(tensor, "BHSD", tensor.shape, isTarget, which);
        const all = (tensor: Floats) => dirty(tensor, () => true);
        const record = (changes: object) =>
          hw.record((recorder) => {
            const [q, k, v] = Object.entries({ query, key, value }).map(([name, x]) => recorder.input(name, x.shape));
            return { y: recorder.attention(q!, k!, v!, { ...options, ...changes }) };
          });
        using plain = await record({});
        using step = await record(rest.bias ? { bias: hiddenBias(call, which) } : {});
        const clean = bits(await plain.run({ query, key, value }));
        await step.run({ query: all(query), key: all(key), value: all(value) });
        const hidden = { query, key: dirty(key, isHidden), value: dirty(value, isHidden) };
        expect(bits(await step.run(hidden))).toEqual(clean);
      }),
      third,
    );
  });

  test.each(HIDING_OPTIONS)(
    "steps: a token of NaN or Inf that %s hides changes no bit of the others",
    async (_, options) => {
      for (const poison of [NaN, Infinity, -Infinity]) expect(await othersBeside(hw, options, poison)).toEqual(await othersBeside(hw, options)); // oxfmt-ignore
    },
  );

  test("steps: NaN and Inf in tokens of a cache that were taken back, removed, dropped, or are out of the window", async () => {
    const runs = fc.integer({ min: 1, max: 4 });
    const rows = fc.constantFrom(1, 5); // a GPU compiles kernels for each
    const hiding = fc.constantFrom(...HIDINGS);
    await fc.assert(
      fc.asyncProperty(
        fc.record({ rows, before: runs, hidden: runs, after: runs, dtype: dtypes, position: positions, hiding }),
        fc.constantFrom(NaN, Infinity, -Infinity),
        async (sizes, poison) => {
          expect(bits(await endsAfterHidden(hw, sizes, poison))).toEqual(bits(await endsAfterHidden(hw, sizes)));
        },
      ),
      third,
    );
  });
}

/** Whether no row of a group of heads sees key j, as scores [B, H, Sq, Skv] tell it. */
function hiddenIn({ data, shape }: Floats, numKvHeads: number): (b: number, g: number, j: number) => boolean {
  const [, H, Sq, Skv] = shape as [number, number, number, number];
  const group = H / numKvHeads;
  const scores = data;
  return (b, g, j) => {
    for (let h = g * group; h < (g + 1) * group; ++h)
      for (let i = 0; i < Sq; ++i) if (scores[((b * H + h) * Sq + i) * Skv + j] !== -Infinity) return false;
    return true;
  };
}
