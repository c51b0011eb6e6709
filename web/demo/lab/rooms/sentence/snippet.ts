/**
 * A layer with the visitor's changes, as a program. It has random weights, because the model's own weights are 28 MB.
 */
export function snippet(gains: readonly number[], hidden: readonly number[]): string {
  return `import { createAttention } from "headwise";

const hw = await createAttention();
const [tokens, width, numHeads] = [${Math.max(10, ...hidden.map((token) => token + 1))}, 256, 4];
const random = (length) => Float32Array.from({ length }, () => (Math.random() - 0.5) / 8);
const layer = await hw.multiHeadAttention({
  inputDim: width,
  modelDim: width,
  numHeads,
  weights: { Wqkv: random(width * 3 * width), bqkv: random(3 * width), Wo: random(width * width) }, // yours
});
const x = { data: random(tokens * width), shape: [1, tokens, width] };
const hidden = [${hidden.join(", ")}]; // tokens that nobody may look at
const mask = Uint8Array.from({ length: tokens }, (_, token) => Number(!hidden.includes(token)));
const { output, probs } = await layer.forward(x, {
  headGain: [${gains.slice(0, 4).join(", ")}], // 0 switches a head off
  mask: { data: mask, shape: [1, 1, 1, tokens] },
  returns: { output: true, probs: true },
});
console.log(output.shape, probs.shape);
await hw.dispose();
`;
}
