// What TypeScript knows of results: what was asked for is there, in the dtype of the query or of `into`, where it lies.

/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-call, typescript/unbound-method
   -- where a part is absent, its type is none; where a result may lie on the GPU, its data may be a method */

import {
  Attention,
  tensor,
  toBfloat16,
  toFloat32,
  type AttentionOptions,
  type FloatTensor,
  type GpuFloats,
  type GpuTensor,
  type KvCache,
  type Layer,
  type Returns,
  type Tensor,
} from "headwise";

declare const hw: Attention;
declare const layer: Layer;
declare const cache: KvCache;
declare const floats: Tensor<"float32">;
declare const halves: { readonly data: Uint16Array; readonly shape: readonly number[] };
declare const either: FloatTensor;
declare const onGpu: GpuFloats;
declare const options: AttentionOptions;
declare const returns: Returns;
declare const flag: boolean;

/** The three calls that attend. */
const attend = (x: Tensor<"float32">) => hw.scaledDotProductAttention(x, x, x);

export async function dtypes(): Promise<Float32Array[]> {
  const halfOutput: ArrayLike<number> = (await layer.forward(halves)).output.data;
  // @ts-expect-error: the output has the dtype of the query, here float16
  const wrong: Float32Array = (await cache.attend(halves)).output.data;
  // @ts-expect-error: or it may have, as far as TypeScript knows
  const unknown: Float32Array = (await layer.forward(either)).output.data;
  const outputs = [await attend(floats), await layer.forward(floats), await cache.attend(floats)];
  const written = [
    await hw.scaledDotProductAttention(halves, halves, halves, { into: floats }),
    await layer.forward(halves, { into: floats }),
    await cache.attend(halves, { into: floats }),
  ];
  return [...outputs, ...written]
    .map(({ output }) => output.data)
    .concat(wrong, unknown, Float32Array.from(halfOutput));
}

/** Only weights and biases can be bfloat16, and they state it. */
export async function weights(): Promise<Uint16Array> {
  const weight = toBfloat16(floats);
  const kept = hw.allocate([2, 2], "bfloat16");
  kept.data.set(weight.data);
  await hw.linear(floats, kept, weight);
  await hw.linearBackward({ x: floats, weight, dOutput: floats });
  await hw.gpu!.uploadWeight(weight);
  await layer.update({ Wq: weight, bq: toFloat32(weight) });
  await hw.multiHeadAttention({ numHeads: 1, weights: { Wq: weight, Wk: kept, Wv: weight }, weightDtype: "bfloat16" });
  // @ts-expect-error: not an input
  await hw.linear(weight, weight);
  // @ts-expect-error: nor a query, a key or a value
  await attend(weight);
  // @ts-expect-error: nor an output
  await hw.linear(floats, weight, weight, { into: kept });
  // @ts-expect-error: nor the dtype of a cache
  await hw.kvCache({ numKvHeads: 1, headDim: 1, dtype: "bfloat16" });
  return tensor(weight.data, [2, 2], "bfloat16").data;
}

export async function parts(): Promise<ArrayLike<number>[]> {
  const asked = { returns: { probs: true, lse: true } } as const;
  const results = [
    await hw.scaledDotProductAttention(floats, floats, floats, asked),
    await layer.forward(floats, asked),
    await cache.attend(floats, asked),
  ];
  for (const { output, lse } of results) console.log(output.data, lse.data);
  // @ts-expect-error: what was not asked for may be absent
  console.log((await layer.forward(floats)).lse.data);
  // @ts-expect-error: what a variable asks for may be absent
  console.log((await cache.attend(floats, { returns })).lse.data);
  // @ts-expect-error: so may an output that a flag asks for
  console.log((await layer.forward(floats, { returns: { output: flag } })).output.data);
  return results.map(({ probs }) => probs.data);
}

export async function withoutOutput(): Promise<ArrayLike<number>[]> {
  const none = { returns: { output: false, entropy: true } } as const;
  const attended = await hw.scaledDotProductAttention(floats, floats, floats, none);
  const searched = await hw.scaledDotProductAttention(floats, floats, undefined, none);
  // @ts-expect-error: a call with an output needs values
  await hw.scaledDotProductAttention(floats, floats, undefined, { returns: { entropy: true } });
  console.log(searched.entropy.data);
  const forwarded = await layer.forward(floats, none);
  const cached = await cache.attend(floats, { returns: { output: false, entropy: true } });
  // @ts-expect-error: an output that was refused
  console.log(attended.output.data);
  // @ts-expect-error: an output that was refused
  console.log(forwarded.output.data);
  // @ts-expect-error: an output that was refused
  console.log(cached.output.data);
  return [attended, forwarded, cached].map(({ entropy }) => entropy.data);
}

export async function places(encoder: object): Promise<ArrayLike<number>[]> {
  const there = { location: "gpu", returns: { lse: true } } as const;
  const attended = await hw.scaledDotProductAttention(onGpu, onGpu, onGpu, there);
  const cached = await cache.attend(onGpu, there);
  const recorded = await hw.scaledDotProductAttention(onGpu, onGpu, onGpu, { encoder, returns: { lse: true } });
  const forwarded = await layer.forward(onGpu, there);
  const tensors: GpuTensor[] = [attended.output, cached.output, recorded.output, forwarded.output];
  // @ts-expect-error: a result on the GPU has no array, but a method that copies it
  console.log(attended.lse.data.subarray(1));
  // @ts-expect-error: options in a variable may say "gpu"
  const data: ArrayLike<number> = (await hw.scaledDotProductAttention(floats, floats, floats, options)).output.data;
  const here: Omit<AttentionOptions, "location"> = options;
  const { output } = await hw.scaledDotProductAttention(floats, floats, floats, { ...here, returns: { lse: true } });
  console.log(tensors, data);
  return [await attended.lse.data(), await cached.lse.data(), await recorded.lse.data(), output.data];
}

export function made(): void {
  // @ts-expect-error: instances come from createAttention
  console.log(new Attention());
}
