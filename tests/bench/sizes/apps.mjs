// Small apps, each with one thing that people do, as a new user would write it.

/** An app that makes an instance, calls it once and hands the result over. */
const appOf = (call, { options = `{ backend: "wasm" }`, entry = "headwise" } = {}) => `
  import { createAttention } from "${entry}";

  const random = (...shape) => ({
    data: Float32Array.from({ length: shape.reduce((product, extent) => product * extent, 1) }, Math.random),
    shape,
  });
  const x = random(4, 64, 32);
  const hw = await createAttention(${options});
  globalThis.finish(await ${call});
`;

const ATTENTION = "hw.scaledDotProductAttention(x, x, x)";
const GRADIENTS = `hw.scaledDotProductAttention(x, x, x, { returns: { output: true, lse: true } })
    .then((forward) => hw.attentionBackward({ query: x, key: x, value: x, ...forward, dOutput: x }))`;
const CACHE = `hw.kvCache({ numKvHeads: 4, headDim: 32 })
    .then((cache) => cache.step(random(1, 4, 1, 32), random(1, 4, 1, 32), random(1, 4, 1, 32)))`;
const LAYER = `hw.multiHeadAttention({ numHeads: 4, weights: { Wq: w, Wk: w, Wv: w, Wo: w } })
    .then((layer) => layer.forward(random(1, 64, 32)))`;

/** `goal`: KB by gzip of all files together. `isGpu`: needs a GPU, or a software adapter. */
export const APPS = [
  { name: "attention on wasm", source: appOf(ATTENTION), goal: 156 },
  { name: "attention, engine chosen", source: appOf(ATTENTION, { options: "" }) },
  { name: "attention in a worker", source: appOf(ATTENTION, { entry: "headwise/worker" }), goal: 190 },
  { name: "attention, `headwise/inline`", source: appOf(ATTENTION, { entry: "headwise/inline" }) },
  { name: "attention with its weights", source: appOf(ATTENTION.replace(")", ", { returns: { probs: true } })")) },
  { name: "attention and gradients", source: appOf(GRADIENTS), goal: 240 },
  { name: "a step of a cache", source: appOf(CACHE) },
  { name: "a layer", source: appOf(LAYER).replace("const hw", "const w = random(32, 32);\n  const hw") },
  { name: "attention on WebGPU", source: appOf(ATTENTION, { options: `{ backend: "webgpu" }` }), isGpu: true },
];
