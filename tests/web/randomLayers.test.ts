import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createAttention, HeadwiseError, tensor, type Attention } from "headwise";

import { bits } from "./close.js";
import { runsOf } from "./depth.js";
import { variants } from "./engines.js";
import { calls, type Call } from "./randomCalls.js";

const RUNS = runsOf(100);

/** An identity weight: the output is the input, bit for bit. */
function identity(width: number) {
  return tensor(
    Float32Array.from({ length: width * width }, (_, k) => Number(k % (width + 1) === 0)),
    [width, width],
  );
}

/** Calls that a layer can make too: with packed heads and a batch axis. */
const layerCalls = calls.filter(
  ({ query, options: { layout } }) => query.shape.length === 3 && (layout === "BSE" || layout === "BES"),
);

/** Dtypes that hold 0 and 1 as they are. With int8 a row is multiplied as whole numbers, in blocks with a unit. */
const weightDtypes = fc.constantFrom("float32" as const, "float16" as const, "bfloat16" as const);

/** The results of a call, and of a layer that projects nothing. */
async function bothWays(
  hw: Attention,
  { query, key, value, options }: Call,
  weightDtype: "float32" | "float16" | "bfloat16",
): Promise<[unknown, unknown]> {
  const { layout, numHeads, numKvHeads, ...rest } = options as typeof options & { layout: "BSE" | "BES" };
  const axis = layout === "BSE" ? 2 : 1;
  const [inputDim, keyInputDim, valueInputDim] = [query, key, value].map(({ shape }) => shape[axis]!) as [
    number,
    number,
    number,
  ];
  using layer = await hw.multiHeadAttention({
    layout,
    inputDim,
    keyInputDim,
    valueInputDim,
    numHeads: numHeads!,
    numKvHeads: numKvHeads!,
    valueHeadDim: valueInputDim / numKvHeads!,
    outputProjection: false,
    weightDtype,
    weights: { Wq: identity(inputDim), Wk: identity(keyInputDim), Wv: identity(valueInputDim) },
  });
  return [
    await outcome(hw.scaledDotProductAttention(query, key, value, options)),
    await outcome(layer.forward(query, { key, value, ...rest })),
  ];
}

/** The bits of a result, or the name of the error. */
async function outcome(call: Promise<object>): Promise<unknown> {
  return call.then(bits, (error: unknown) => {
    if (HeadwiseError.is(error)) return error.name;
    throw error;
  });
}

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  test("a layer of identity weights is plain attention, whatever the options and the dtype of the weights", async () => {
    await fc.assert(
      fc.asyncProperty(layerCalls, weightDtypes, async (call, weightDtype) => {
        const [plain, layered] = await bothWays(hw, call, weightDtype);
        expect(layered).toEqual(plain);
      }),
      { numRuns: RUNS },
    );
  });
});
