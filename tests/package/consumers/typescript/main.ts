// Every entry, as strict TypeScript sees it from outside. It is compiled, not run.

import { createAttention, HeadwiseError, tensor, type Attention, type FloatTensor, type Report } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { formula, type Formula } from "headwise/formula";
import * as onnx from "headwise/onnx";
import { defineElements, type AttentionMap } from "headwise/viz";
import { createAttention as createOnGpu } from "headwise/webgpu";
import { createAttention as createInWorker } from "headwise/worker";

export const ones = (rows: number): FloatTensor => ({ data: new Float32Array(rows).fill(1), shape: [rows, 1] });

export async function compute(): Promise<Float32Array> {
  const hw = await createAttention({ backend: "wasm", threads: 2, onProgress: ({ loaded, total }) => loaded / total });
  const report: Report = hw.report;
  const x = tensor(new Float32Array(6), [3, 2]);
  const { output, probs } = await hw.scaledDotProductAttention(x, x, x, { returns: { output: true, probs: true } });
  const data: Float32Array = output.data;
  const weights: ArrayLike<number> = probs.data;
  // @ts-expect-error: an option that does not exist
  await hw.scaledDotProductAttention(x, x, x, { casual: true });
  hw.dispose();
  return report.threads > 1 ? data : Float32Array.from(weights);
}

export async function byFormula(hw: Attention, x: FloatTensor): Promise<Float32Array> {
  const alibi = formula("s - slope[h] * abs(q - k) * factor", { slope: [1, 0.5], factor: 2 });
  const steeper: typeof alibi = alibi.with({ slope: new Float32Array(2), factor: 3 });
  // @ts-expect-error: a parameter that does not exist
  alibi.with({ slop: [1, 2] });
  const visible: Formula = formula("k <= q");
  const { scores } = await hw.scaledDotProductAttention(x, x, x, {
    score: steeper,
    visible,
    returns: { scores: "formula" },
  });
  return scores.data;
}

// @ts-expect-error: an output that was not asked for
export const lse = async (hw: Attention, x: FloatTensor) => (await hw.scaledDotProductAttention(x, x, x)).lse.data;

export async function onGpu(device: GPUDevice): Promise<string | undefined> {
  try {
    const hw = await createOnGpu({ device });
    await onnx.softmax(hw, { input: tensor(new Float32Array(2), [1, 2]) });
    return undefined;
  } catch (error) {
    return HeadwiseError.is(error) ? error.code : undefined;
  }
}

export function draw(probs: FloatTensor & { readonly data: Float32Array }): void {
  defineElements();
  const map: AttentionMap = document.querySelector("attention-map")!;
  map.probs = { data: probs.data, shape: probs.shape };
  map.addEventListener("headchange", ({ detail }) => console.log(detail.head));
  // @ts-expect-error: what is internal is not there
  map.invalidate();
}

export async function everywhere(): Promise<readonly number[]> {
  await using inWorker = await createInWorker({ threads: "auto" });
  await using inline = await createInline({ maximumMemory: 2 ** 28 });
  return [inWorker, inline].map(({ report }) => report.threads);
}
