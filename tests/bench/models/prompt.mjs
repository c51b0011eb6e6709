// A prompt through a model of GPT-2 small's shape: headwise beside ONNX Runtime Web, both in float32 on wasm with the same
// weights and number of threads, turn by turn.

import { breathe } from "../harness/timing.mjs";
import { summary } from "../harness/statistics.mjs";
import { randomFile } from "../lab/gpt2Small.mjs";
import { openOwn } from "./ownModel.mjs";
import { openPeer } from "./peer.mjs";

/** A product of 3072 float32 errs by at most 3072 × 2⁻²⁴ of the sum of its terms; 12 blocks add up, most errors cancel. */
export const MOST_DIFFERENCE = 1e-3;

/** @returns the medians in milliseconds, the median of the ratios of turns, and the largest difference of the scores */
export async function promptOf(options) {
  const { ort, layers, length, threads, rounds } = options;
  const file = randomFile("F32", layers);
  const tokens = Array.from({ length }, (_, n) => (n * 7919) % 50257);
  const peer = await openPeer(ort, file, { layers, threads, remembers: false });
  const { model, dispose } = await openOwn(options, file);
  const own = async () => (await model.run(tokens, { logits: "last" })).logits.data;
  const theirs = async () => (await peer.call(tokens)).scores;
  const difference = largestDifference(await own(), await theirs());
  if (!(difference < MOST_DIFFERENCE)) throw new Error(`the scores of the engines differ by ${difference}`);
  const turns = [];
  for (let round = 0; round < rounds; round++) turns.push([await timeOf(own), await timeOf(theirs)]);
  dispose();
  await peer.release();
  return { ...mediansOf(turns), difference };
}

/** Of turns `[own, peer]`, in milliseconds. */
export const mediansOf = (turns) => ({
  own: summary(turns.map(([own]) => own)).median,
  peer: summary(turns.map(([, peer]) => peer)).median,
  ratio: summary(turns.map(([own, peer]) => peer / own)).median,
});

async function timeOf(call) {
  await breathe();
  const begun = performance.now();
  await call();
  return performance.now() - begun;
}

/** As a share of the largest score. */
function largestDifference(a, b) {
  const largest = a.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return a.reduce((most, x, n) => Math.max(most, Math.abs(x - b[n])), 0) / largest;
}
