import { CallArguments } from "./callArguments.js";
import { OptionError, ShapeError } from "./errors.js";
import { describe } from "./describe.js";
import { argument } from "./options.js";
import type { Tensor, TypedTensor } from "./tensor.js";

/**
 * The option `mask` for a `key_padding_mask` of PyTorch's `nn.MultiheadAttention`, where **true = ignore**: the
 * opposite of headwise, of PyTorch's own `scaled_dot_product_attention` and of ONNX.
 *
 * @param keyPaddingMask - Bool `[B, Skv]`, or `[Skv]` for one batch.
 * @returns Bool `[B, 1, 1, Skv]`, true = may attend.
 */
export function maskFromKeyPadding(keyPaddingMask: Tensor<"bool">): TypedTensor<"bool"> {
  const { data, shape } = allowed("maskFromKeyPadding", "keyPaddingMask", keyPaddingMask);
  if (shape.length !== 1 && shape.length !== 2)
    throw new ShapeError(`maskFromKeyPadding: keyPaddingMask.shape must be [B, Skv] or [Skv], got ${describe(shape)}`);
  return { data, shape: [shape.length === 2 ? shape[0]! : 1, 1, 1, shape.at(-1)!], dtype: "bool" };
}

/**
 * The option `mask` for a boolean `attn_mask` of `nn.MultiheadAttention`, where **true = not allowed**.
 *
 * @param attentionMask - Bool `[Sq, Skv]`, or `[B·numHeads, Sq, Skv]`.
 * @returns Bool `[1, 1, Sq, Skv]` or `[B, numHeads, Sq, Skv]`, true = may attend.
 */
export function maskFromAttentionMask(attentionMask: Tensor<"bool">, numHeads = 1): TypedTensor<"bool"> {
  const operation = "maskFromAttentionMask";
  const { data, shape } = allowed(operation, "attentionMask", attentionMask);
  argument(new CallArguments(operation), "numHeads", numHeads).integer("numHeads", { min: 1 });
  const [queries, keys] = shape.slice(-2) as [number, number];
  if (shape.length === 2) return { data, shape: [1, 1, queries, keys], dtype: "bool" };
  if (shape.length !== 3 || shape[0]! % numHeads !== 0)
    throw new ShapeError(
      `${operation}: attentionMask.shape must be [Sq, Skv] or [B·numHeads, Sq, Skv], got ${describe(shape)} ` +
        `and numHeads ${numHeads}`,
    );
  return { data, shape: [shape[0]! / numHeads, numHeads, queries, keys], dtype: "bool" };
}

/** The opposite of a mask. */
function allowed(operation: string, name: string, value: unknown): TypedTensor<"bool"> {
  const mask = new CallArguments(operation).tensor(name, value, ["bool", "float32"]);
  if (mask.dtype === "bool") return { ...mask, data: mask.data.map((hidden) => (hidden ? 0 : 1)) };
  throw new OptionError(`${operation}: ${name} must be of dtype bool, got float32`, {
    hint: "A float mask is added to the scores in PyTorch too: give it as the option `bias`.",
  });
}
