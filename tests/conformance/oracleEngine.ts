import {
  referenceAttention,
  type Expected,
  type Input,
  type ReferenceOptions,
} from "../attention-conformance/reference/reference.js";
import { referenceRotary, type RotaryOptions } from "../web/referenceRotary.js";

interface Returns {
  readonly output?: boolean;
  readonly probs?: true;
  readonly scores?: "raw" | "softcapped" | "biased";
}

/** An instance whose calls go to the double reference, for testing the reference itself on published cases. */
export const oracleEngine = {
  scaledDotProductAttention(
    query: Input,
    key: Input,
    value: Input,
    { returns = {}, ...options }: ReferenceOptions & { returns?: Returns },
  ) {
    const result = referenceAttention(query, key, value, options);
    const { B, Hq, Sq, Skv, Dv } = result.shape;
    const float32 = ({ values }: Expected, shape: number[]) => ({
      data: Float32Array.from(values),
      shape,
      dtype: "float32",
    });
    return Promise.resolve({
      output: returns.output === false ? undefined : float32(result.output, [B, Hq, Sq, Dv]),
      probs: returns.probs && float32(result.probs, [B, Hq, Sq, Skv]),
      scores: returns.scores && float32(result[returns.scores], [B, Hq, Sq, Skv]),
    });
  },

  rotaryEmbedding(x: Input, options: RotaryOptions) {
    return Promise.resolve({ ...referenceRotary(x, options), dtype: "float32" });
  },
};
