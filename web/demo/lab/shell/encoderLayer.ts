/** The beginning of a program with a layer of the encoder's sizes. Its weights are random: the model's own are 28 MB. */
export function encoderLayer(tokens: number): string {
  return `import { createAttention } from "headwise";

const hw = await createAttention();
const [tokens, width, numHeads] = [${tokens}, 256, 4];
const random = (length) => Float32Array.from({ length }, () => (Math.random() - 0.5) / 8);
const layer = await hw.multiHeadAttention({
  inputDim: width,
  modelDim: width,
  numHeads,
  weights: { Wqkv: random(width * 3 * width), bqkv: random(3 * width), Wo: random(width * width) }, // yours
});
const x = { data: random(tokens * width), shape: [1, tokens, width] };
`;
}
