import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { isAnyArray } from "../base/typedArray.js";
import { elementsOf } from "../read/anyArray.js";
import { CallArguments } from "../read/callArguments.js";
import { argument } from "../read/options.js";
import { elementCount, type Tensor, type TypedTensor } from "../tensor/tensor.js";

/** A list of 1 (token) and 0 (padding). Some tokenizers give bigints or booleans instead. */
export type TokenFlags = readonly (number | bigint | boolean)[] | Uint8Array | Int32Array | BigInt64Array;

/** An `attention_mask` of a tokenizer: a list, a list of lists, or a tensor `[S]` or `[B, S]`. */
export type TokenizerMask =
  | TokenFlags
  | readonly TokenFlags[]
  | { readonly data: TokenFlags; readonly shape: readonly number[] }
  | { readonly data: TokenFlags; readonly dims: readonly number[] };

/**
 * Makes the option `mask` from a tokenizer's `attention_mask`, where 1 = token and 0 = padding. It hides the keys that
 * are padding.
 *
 * @param attentionMask - `[B, S]`, or `[S]` for one batch.
 * @returns Bool `[B, 1, 1, S]`, true = may attend.
 * @throws OptionError if the argument is neither a list nor a tensor, or has an element that is not 0, 1 or a boolean.
 * @throws ShapeError if the shape is wrong or the lists differ in length.
 */
export function maskFromTokenizer(attentionMask: TokenizerMask): TypedTensor<"bool"> {
  const call = new CallArguments("maskFromTokenizer");
  const name = "attentionMask";
  return call.guarded(name, () => {
    if (isAnyArray(attentionMask)) return maskFromLists(call, name, attentionMask);
    const { data, shape, dims } = (isObject(attentionMask) ? attentionMask : {}) as Readonly<Record<string, unknown>>;
    const extents = shape ?? dims; // ONNX Runtime and transformers.js name the shape `dims`
    if (!isAnyArray(data) || extents === undefined)
      throw new OptionError(`${call.operation}: ${name} must be a list or a tensor, got ${describe(attentionMask)}`, {
        hint: "Give what the tokenizer calls attention_mask.",
      });
    const { length } = elementsOf(call, `${name}.data`, data);
    const place = batchAndKeys(call.operation, name, call.shape(name, extents), length);
    return keyMask(readTokenFlags(call, `${name}.data`, data), place);
  });
}

/**
 * Makes the option `mask` from the `key_padding_mask` of PyTorch's `nn.MultiheadAttention`: booleans, **true =
 * hidden**, the opposite of `mask`.
 *
 * @param hiddenKeys - Bool `[B, Skv]`, or `[Skv]` for one batch.
 * @returns Bool `[B, 1, 1, Skv]`, true = may attend.
 * @throws OptionError if the tensor is not bool; ShapeError if its shape is wrong.
 */
export function maskFromHiddenKeys(hiddenKeys: Tensor<"bool">): TypedTensor<"bool"> {
  const call = new CallArguments("maskFromHiddenKeys");
  const { data, shape } = visible(call, "hiddenKeys", hiddenKeys);
  return keyMask(data, batchAndKeys(call.operation, "hiddenKeys", shape, data.length));
}

/**
 * Makes the option `mask` from a boolean `attn_mask` of PyTorch's `nn.MultiheadAttention`: **true = hidden**. The
 * `attn_mask` of PyTorch's `scaled_dot_product_attention` means the opposite: it needs no conversion.
 *
 * @param hiddenPairs - Bool `[Sq, Skv]`, or `[B·numHeads, Sq, Skv]`.
 * @param numHeads - Needed for rank 3. Default 1.
 * @returns Bool `[1, 1, Sq, Skv]` or `[B, numHeads, Sq, Skv]`, true = may attend.
 * @throws OptionError if the tensor is not bool; ShapeError if its shape is wrong.
 */
export function maskFromHiddenPairs(hiddenPairs: Tensor<"bool">, numHeads = 1): TypedTensor<"bool"> {
  const call = new CallArguments("maskFromHiddenPairs");
  const { data, shape } = visible(call, "hiddenPairs", hiddenPairs);
  argument(call, "numHeads", numHeads).integer("numHeads", { min: 1 });
  const [queries, keys] = shape.slice(-2) as [number, number];
  if (shape.length === 2) return { data, shape: [1, 1, queries, keys], dtype: "bool" };
  if (shape.length !== 3 || shape[0]! % numHeads !== 0)
    throw new ShapeError(
      `${call.operation}: hiddenPairs.shape must be [Sq, Skv] or [B·numHeads, Sq, Skv], got ${describe(shape)} ` +
        `and numHeads ${numHeads}`,
    );
  return { data, shape: [shape[0]! / numHeads, numHeads, queries, keys], dtype: "bool" };
}

/** Inverts booleans that say what is hidden. */
function visible(call: CallArguments, name: string, given: unknown): TypedTensor<"bool"> {
  const hidden = call.tensor(name, given, ["bool", "float32", "int32"]);
  if (hidden.dtype === "bool")
    return { data: hidden.data.map((flag) => Number(flag === 0)), shape: hidden.shape, dtype: "bool" };
  throw new OptionError(`${call.operation}: ${name} must be of dtype bool, got ${hidden.dtype}`, {
    hint:
      hidden.dtype === "float32"
        ? "Numbers that are added to the scores are the option `bias`."
        : "The attention_mask of a tokenizer, 1 = token, goes to maskFromTokenizer.",
  });
}

/** A mask with one row of keys for each batch. */
function keyMask(data: Uint8Array, [batchSize, keys]: readonly [number, number]): TypedTensor<"bool"> {
  return { data, shape: [batchSize, 1, 1, keys], dtype: "bool" };
}

/** Reads a shape [B, S] or [S] and checks that it has `length` elements. */
function batchAndKeys(operation: string, name: string, shape: readonly number[], length: number): [number, number] {
  const size = elementCount(operation, name, shape);
  if (shape.length !== 1 && shape.length !== 2)
    throw new ShapeError(`${operation}: ${name}.shape must be [B, S] or [S], got ${describe(shape)}`);
  if (length !== size)
    throw new ShapeError(
      `${operation}: ${name}.data.length must be the product of shape ${describe(shape)}, got ${length} and ${size}`,
    );
  return [shape.length === 2 ? shape[0]! : 1, shape.at(-1)!];
}

/** Reads one list for one sequence, or a list of lists of equal length. */
function maskFromLists(call: CallArguments, name: string, given: object): TypedTensor<"bool"> {
  const list = elementsOf(call, name, given);
  const first = list[0];
  if (!isAnyArray(first)) {
    const data = readTokenFlags(call, name, given);
    return keyMask(data, [1, data.length]);
  }
  const rows: Uint8Array[] = [];
  for (let b = 0; b < list.length; ++b) {
    const row = b === 0 ? first : list[b];
    const flags = isAnyArray(row) ? readTokenFlags(call, `${name}[${b}]`, row) : undefined;
    if (!flags || flags.length !== (rows[0] ?? flags).length)
      throw new ShapeError(
        `${call.operation}: ${name}[${b}] must be a list as long as ${name}[0], ` +
          `got ${describe(row)} and ${describe(first)}`,
      );
    rows.push(flags);
  }
  const keys = rows[0]!.length;
  const data = new Uint8Array(rows.length * keys);
  rows.forEach((row, b) => data.set(row, b * keys));
  return keyMask(data, [rows.length, keys]);
}

function readTokenFlags(call: CallArguments, name: string, given: object): Uint8Array {
  const list = elementsOf(call, name, given);
  const { length } = list;
  const flags: number[] = [];
  for (let n = 0; n < length; ++n) {
    const element = list[n];
    const flag = ["number", "bigint", "boolean"].includes(typeof element) ? Number(element) : NaN;
    if (flag !== 0 && flag !== 1)
      throw new OptionError(
        `${call.operation}: ${name}[${n}] must be 1 (token) or 0 (padding), got ${describe(element)}`,
        {
          hint: Number.isInteger(flag) ? "Give the tokenizer's attention_mask, not its input_ids." : undefined,
        },
      );
    flags.push(flag);
  }
  return Uint8Array.from(flags);
}
