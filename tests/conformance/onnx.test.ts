import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { attention, rotaryEmbedding, softmax } from "headwise/onnx";

import { variants } from "../web/engines.js";
import { differences, inputsOf, onnxCases, type OnnxCase, type Result } from "./onnxCases.js";
import { oracleEngine } from "./oracleEngine.js";

type Operator = (
  hw: Attention,
  inputs: object,
  attributes: object,
  options: { opset: number },
) => Promise<Record<string, Result>>;

const OPERATORS = { Attention: attention, RotaryEmbedding: rotaryEmbedding, Softmax: softmax } as unknown as Record<
  OnnxCase["op"],
  Operator
>;

async function problems(hw: Attention, example: OnnxCase): Promise<string[]> {
  const { op, attributes, opset, outputs } = example;
  const results = await OPERATORS[op](hw, inputsOf(example), attributes, { opset });
  return outputs.flatMap((output) => differences(results[output.name], output));
}

const cases = onnxCases();

const missing = cases ? "" : " (skipped: they are not on this machine, see HEADWISE_CASES)";

(cases ? describe : describe.skip)(`published ONNX cases${missing}`, () => {
  const all = cases ?? [{ name: "the cases are not on this machine" } as OnnxCase];

  test.each(all)("the double reference agrees with $name", async (example) => {
    expect(await problems(oracleEngine as unknown as Attention, example)).toEqual([]);
  });

  describe.each(variants.flatMap((variant) => [1, 2].map((threads) => ({ variant, threads }))))(
    "$variant on $threads threads",
    ({ variant, threads }) => {
      let hw: Attention;
      beforeAll(async () => {
        hw = await createAttention({ backend: "wasm", variant, threads });
      });
      afterAll(() => hw.dispose());

      test.each(all)("$name", async (example) => {
        expect(await problems(hw, example)).toEqual([]);
      });
    },
  );
});
