// NaN and infinities at chosen places of calls.

import type { AttentionOptions, Tensor } from "headwise";

import type { Call } from "./randomCalls.js";
import { referenceAttention, type ReferenceResult } from "../attention-conformance/reference/reference.js";

const POISONS = [NaN, Infinity, -Infinity];
const HALF_POISONS = [0x7e00, 0x7c00, 0xfc00];

/** A copy of a tensor in which every feature of the rows (b, h, s) chosen by `isTarget` is the poison. */
export function poisoned<T extends Tensor>(
  tensor: T,
  layout: AttentionOptions["layout"],
  [B, H, S, width]: readonly number[],
  isTarget: (b: number, h: number, s: number) => boolean,
  which: number,
): T {
  const data = (tensor.data as Float32Array | Uint16Array).slice();
  const poison = poisonFor(data, which);
  for (let b = 0; b < B!; ++b)
    for (let h = 0; h < H!; ++h)
      for (let s = 0; s < S!; ++s)
        for (let d = 0; d < width! && isTarget(b, h, s); ++d)
          data[place(layout, [b, h, s, d], [H!, S!, width!])] = poison;
  return { ...tensor, data };
}

/** The same for an input of a call. */
export function poisonRows(
  call: Call,
  name: "query" | "key" | "value",
  { shape: { B, Hq, Hkv, Sq, Skv, D, Dv } }: ReferenceResult,
  isTarget: (b: number, h: number, s: number) => boolean,
  which: number,
): Tensor {
  const extents = { query: [B, Hq, Sq, D], key: [B, Hkv, Skv, D], value: [B, Hkv, Skv, Dv] };
  return poisoned<Tensor>(call[name], call.options.layout, extents[name], isTarget, which);
}

/** The bias of a call with poison in the entries all of whose pairs something else hides. */
export function hiddenBias({ query, key, value, options }: Call, which: number): Tensor<"float32" | "float16"> {
  const bias = options.bias as Tensor<"float32" | "float16">;
  const zeros = { ...bias, data: (bias.data as Float32Array).slice().fill(0) } as typeof bias;
  const { biased, shape } = referenceAttention(query, key, value, { ...options, bias: zeros, emptyRows: "zero" });
  const data = (bias.data as Float32Array | Uint16Array).slice();
  const seen = new Set<number>();
  const full = [shape.B, shape.Hq, shape.Sq, shape.Skv];
  biased.values.forEach((score, index) => {
    if (score !== -Infinity) seen.add(repeated(index, full, bias.shape));
  });
  const poison = poisonFor(data, which);
  for (let n = 0; n < data.length; ++n) if (!seen.has(n)) data[n] = poison;
  return { ...bias, data };
}

/** The place in an array of `shape`, which is repeated to `full`, of a place in the whole. */
function repeated(index: number, full: readonly number[], shape: readonly number[]): number {
  const axes = [...Array.from({ length: full.length - shape.length }, () => 1), ...shape];
  let [rest, stride, at] = [index, 1, 0];
  for (let axis = full.length - 1; axis >= 0; --axis) {
    const coordinate = rest % full[axis]!;
    rest = Math.floor(rest / full[axis]!);
    if (axes[axis]! > 1) at += coordinate * stride;
    stride *= axes[axis]!;
  }
  return at;
}

function poisonFor(data: Float32Array | Uint16Array, which: number): number {
  return (data[Symbol.toStringTag] === "Uint16Array" ? HALF_POISONS : POISONS)[which]!;
}

export function place(layout: AttentionOptions["layout"], [b, h, s, d]: number[], [H, S, D]: number[]): number {
  if (layout === "BHSD") return ((b! * H! + h!) * S! + s!) * D! + d!;
  if (layout === "BES") return ((b! * H! + h!) * D! + d!) * S! + s!;
  return ((b! * S! + s!) * H! + h!) * D! + d!;
}

export interface Row {
  readonly b: number;
  readonly h: number;
  readonly i: number;
  readonly index: number;
}

export function rowsOf({ shape: { B, Hq, Sq } }: ReferenceResult): Row[] {
  return Array.from({ length: B * Hq * Sq }, (_, index) => ({
    b: Math.floor(index / (Hq * Sq)),
    h: Math.floor(index / Sq) % Hq,
    i: index % Sq,
    index,
  }));
}

/** Whether any query row of any head in the group sees key j. */
export function keysSeen(reference: ReferenceResult): (b: number, g: number, j: number) => boolean {
  const { Hq, Hkv, Skv } = reference.shape;
  const seen = new Set<string>();
  for (const { b, h, index } of rowsOf(reference))
    for (let j = 0; j < Skv; ++j)
      if (reference.biased.values[index * Skv + j] !== -Infinity) seen.add(`${b} ${Math.floor(h / (Hq / Hkv))} ${j}`);
  return (b, g, j) => seen.has(`${b} ${g} ${j}`);
}
