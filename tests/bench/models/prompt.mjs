// A prompt through a model of GPT-2 small's shape: headwise beside ONNX Runtime Web, both in float32 on wasm with the same
// weights and number of threads, turn by turn.

import { breathe } from "../harness/timing.mjs";
import { summary } from "../harness/statistics.mjs";
import { configOf, randomFile } from "../lab/gpt2Small.mjs";
import { gpt2Onnx } from "./gpt2Onnx.mjs";

/** A product of 3072 float32 errs by at most 3072 × 2⁻²⁴ of the sum of its terms; 12 blocks add up, most errors cancel. */
const MOST_DIFFERENCE = 1e-3;

/** @returns the medians in milliseconds, the median of the ratios of turns, and the largest difference of the scores */
export async function promptOf({ createAttention, loadModel, ort, layers, length, threads, rounds }) {
  const file = randomFile("F32", layers);
  const tokens = Array.from({ length }, (_, n) => (n * 7919) % 50257);
  const peer = await peerOf(ort, file, { layers, threads, tokens });
  const hw = await createAttention({ backend: "wasm", threads, maximumMemory: 2 ** 31 });
  const json = new TextEncoder().encode(JSON.stringify(configOf(layers)));
  const model = await loadModel(hw, { "config.json": json, "model.safetensors": file });
  const own = async () => (await model.run(tokens, { logits: "last" })).logits.data;
  const difference = largestDifference(await own(), await peer.call());
  if (!(difference < MOST_DIFFERENCE)) throw new Error(`the scores of the engines differ by ${difference}`);
  const [mine, theirs] = [[], []];
  for (let round = 0; round < rounds; round++) {
    mine.push(await timeOf(own));
    theirs.push(await timeOf(peer.call));
  }
  model.dispose();
  hw.dispose();
  await peer.release();
  return {
    own: summary(mine).median,
    peer: summary(theirs).median,
    ratio: summary(mine.map((time, n) => theirs[n] / time)).median,
    difference,
  };
}

async function timeOf(call) {
  await breathe();
  const begun = performance.now();
  await call();
  return performance.now() - begun;
}

async function peerOf(ort, file, { layers, threads, tokens }) {
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = "error";
  const bytes = gpt2Onnx(file, { layers, length: tokens.length });
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] });
  const feed = (numbers) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [1, tokens.length]);
  const feeds = { tokens: feed(tokens), positions: feed(tokens.keys()) };
  return { call: async () => (await session.run(feeds)).scores.data, release: () => session.release() };
}

/** As a share of the largest score. */
function largestDifference(a, b) {
  const largest = a.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return a.reduce((most, x, n) => Math.max(most, Math.abs(x - b[n])), 0) / largest;
}
