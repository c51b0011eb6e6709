// Tokens one after another from a model of GPT-2 small's shape: headwise beside ONNX Runtime Web, both in float32 on wasm with
// the same weights and number of threads, turn by turn. ONNX Runtime gets the keys and values of earlier tokens as inputs and
// gives them back as outputs, as graphs of decoders do.

import { breathe } from "../harness/timing.mjs";
import { quantile } from "../harness/statistics.mjs";
import { randomFile } from "../lab/gpt2Small.mjs";
import { openOwn } from "./ownModel.mjs";
import { openPeer } from "./peer.mjs";
import { mediansOf, MOST_DIFFERENCE } from "./prompt.mjs";

const PROMPT = Array.from({ length: 32 }, (_, n) => (n * 7919) % 50257);
const [WARMING, TIMED] = [4, 16];

/** @returns the median milliseconds of a token of both, and the median of the ratios of turns */
export async function decodingOf(options) {
  const { ort, layers, threads, rounds } = options;
  const file = randomFile("F32", layers);
  const peer = await openPeer(ort, file, { layers, threads, remembers: true });
  const { model, dispose } = await openOwn(options, file);
  const turns = [];
  for (let round = 0; round < rounds; round++) {
    const { tokens, time: own } = await generate(model);
    turns.push([own, await follow(peer, tokens)]);
  }
  dispose();
  await peer.release();
  return mediansOf(turns);
}

const timeOf = (times) => quantile(times.slice(WARMING), 0.5);

/** The tokens that follow the prompt, and the milliseconds of one. */
async function generate(model) {
  await breathe();
  const [tokens, times] = [[], []];
  const steps = model.generate(PROMPT, { maxNewTokens: WARMING + TIMED, temperature: 0, stopTokens: [] });
  let begun = performance.now();
  for await (const { token } of steps) {
    times.push(performance.now() - begun);
    tokens.push(token);
    begun = performance.now();
  }
  return { tokens, time: timeOf(times) };
}

/** The milliseconds of a token in the peer. Each token of the other engine must be its own best one too. */
async function follow(peer, tokens) {
  await breathe();
  let next = await peer.call(PROMPT);
  const times = [];
  for (const [n, token] of tokens.entries()) {
    checkBest(next.scores, token);
    const begun = performance.now();
    next = await peer.call([token], { from: PROMPT.length + n, past: next.past });
    times.push(performance.now() - begun);
  }
  return timeOf(times);
}

function checkBest(scores, token) {
  const best = scores.reduce((most, x) => Math.max(most, x), -Infinity);
  if (!(best - scores[token] <= MOST_DIFFERENCE * Math.abs(best)))
    throw new Error(`ONNX Runtime gives token ${token} a score of ${scores[token]}, and ${best} to its best one`);
}
