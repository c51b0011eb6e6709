import { BATCH, TOKENS, VOCABULARY, type Settings } from "./settings.js";

/** The room's training of two layers as a program. It prints the loss as it falls. */
export function snippet({ position, heads, width, spread, seed, rate }: Settings, steps = 2000): string {
  const isLearned = position === "learned";
  const rotary = position === "rotary" ? `, position: { kind: "rotary" }` : "";
  const when = (code: string) => (isLearned ? code : "");
  return `import { createAttention } from "headwise";
import { adamW, clipGradients, crossEntropy, embedding, embeddingBackward, layerNorm, layerNormBackward, random } from "headwise/train";

const [VOCABULARY, LENGTH, BATCH, WIDTH] = [${VOCABULARY}, ${TOKENS}, ${BATCH}, ${width}];
const source = random(${seed});
const shape = [BATCH, LENGTH];

/** Sequences whose second half repeats the first. */
function drawBatch() {
  const tokens = new Int32Array(BATCH * LENGTH);
  const targets = new Int32Array(BATCH * LENGTH).fill(-1); // −1 does not count
  for (let start = 0; start < tokens.length; start += LENGTH) {
    const half = LENGTH / 8 + source.integer((3 * LENGTH) / 8 + 1);
    const once = source.permutation(VOCABULARY).subarray(0, half);
    tokens.set(once, start);
    tokens.set(once, start + half);
    targets.set(once.subarray(1), start + half); // what follows each repeated token
  }
  return { tokens: { data: tokens, shape }, targets: { data: targets, shape } };
}

const matrix = (rows, columns) => source.normal([rows, columns], ${spread});
const ones = () => ({ data: new Float32Array(WIDTH).fill(1), shape: [WIDTH] });
const block = () => ({
  gain: ones(),
  attention: Object.fromEntries(["Wq", "Wk", "Wv", "Wo"].map((name) => [name, matrix(WIDTH, WIDTH)])),
});
const parameters = {
  table: matrix(VOCABULARY, WIDTH),${when("\n  places: matrix(LENGTH, WIDTH),")}
  blocks: [block(), block()],
  gain: ones(),
  out: matrix(WIDTH, VOCABULARY),
};
${when("const places = { data: Int32Array.from({ length: BATCH * LENGTH }, (_, n) => n % LENGTH), shape };\n")}
const hw = await createAttention();
const layers = [];
for (const { attention } of parameters.blocks)
  layers.push(await hw.multiHeadAttention({ numHeads: ${heads}${rotary}, weights: attention }));
const add = (a, b) => ({ data: a.data.map((value, n) => value + b.data[n]), shape: a.shape });

/** Learns from a batch, and gives its loss. */
async function step(optimizer) {
  const { tokens, targets } = drawBatch();
  const xs = [${isLearned ? "add(embedding(parameters.table, tokens), embedding(parameters.places, places))" : "embedding(parameters.table, tokens)"}];
  const saves = [];
  for (const [n, { gain }] of parameters.blocks.entries()) {
    const { output, saved } = await layers[n].forward(layerNorm(xs[n], gain), { causal: true, save: true });
    xs.push(add(xs[n], output));
    saves.push(saved);
  }
  const x = layerNorm(xs[2], parameters.gain);
  const { loss, dLogits } = crossEntropy(await hw.linear(x, parameters.out), targets);

  const last = await hw.linearBackward({ x, weight: parameters.out, dOutput: dLogits });
  let { dInput: dx, dGain } = layerNormBackward(xs[2], parameters.gain, last.dInput);
  const gradients = { gain: dGain, out: last.dWeight, blocks: [] };
  for (const n of [1, 0]) {
    const { dInput, gradients: attention } = await layers[n].backward(saves[n], dx);
    const norm = layerNormBackward(xs[n], parameters.blocks[n].gain, dInput);
    gradients.blocks[n] = { gain: norm.dGain, attention };
    dx = add(dx, norm.dInput);
  }
  gradients.table = embeddingBackward(parameters.table, tokens, dx);${when("\n  gradients.places = embeddingBackward(parameters.places, places, dx);")}
  clipGradients(gradients, 1);
  optimizer.step(gradients);
  for (const [n, layer] of layers.entries()) await layer.update(parameters.blocks[n].attention);
  return loss;
}

const optimizer = adamW(parameters, { learningRate: ${rate / 1000} });
for (let n = 1; n <= ${steps}; n++) {
  const loss = await step(optimizer);
  if (n === 1 || n % 100 === 0) console.log(\`step \${n}: \${loss.toFixed(3)} nats\`);
}
await hw.dispose();
`;
}
