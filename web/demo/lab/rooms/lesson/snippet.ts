/** What the lesson shows of a head, as a program. It has random weights, because the model's own weights are 28 MB. */
export function snippet(): string {
  return `import { createAttention } from "headwise";

const hw = await createAttention();
const [tokens, width, numHeads] = [10, 256, 4];
const random = (length) => Float32Array.from({ length }, () => (Math.random() - 0.5) / 8);
const layer = await hw.multiHeadAttention({
  inputDim: width,
  modelDim: width,
  numHeads,
  weights: { Wqkv: random(width * 3 * width), bqkv: random(3 * width), Wo: random(width * width) }, // yours
});
const x = { data: random(tokens * width), shape: [1, tokens, width] };
const returns = { output: true, probs: true, scores: "raw", query: true, key: true, value: true, headOutputs: true };
const seen = await layer.forward(x, { returns });
const moved = x.data.map((number, i) => number + seen.output.data[i]); // each word and its mix
console.log(seen.query.shape, seen.headOutputs.shape, moved.length);
await hw.dispose();
`;
}
