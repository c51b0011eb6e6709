// One page of Chromium: headwise and wllama generate in turns with the same weights. Each has a worker of its own.

import { breathe } from "../harness/timing.mjs";
import { byteTokens } from "./ggufModel.mjs";
import { openHeadwise } from "./headwise.mjs";
import { SHAPES } from "./shapes.mjs";
import { openWllama } from "./wllama.mjs";

/** The prompt: no word of the vocabulary, so each byte is a token. */
const PROMPT = "headwise";
/** Turns before the first that counts: until then the engine of WebAssembly still compiles. */
const WARMING = 2;
/** Pauses of 20 ms between turns, until threads that spin for more work have gone to sleep. */
const PAUSES = 15;

/**
 * @returns the tokens a second of each turn, how many tokens both choose alike from the first on, and how headwise computes
 */
export async function run({ weights, threads, tokens, rounds }, report) {
  if (!crossOriginIsolated) throw new Error("the page is not isolated, so it has no threads");
  const [given, shape] = [{ prompt: PROMPT, promptTokens: byteTokens(PROMPT), tokens }, SHAPES[weights]];
  const contenders = { headwise: await openHeadwise(shape, threads), wllama: await openWllama(shape, threads, report) };
  const names = Object.keys(contenders);
  const rates = Object.fromEntries(names.map((name) => [name, []]));
  const chosen = [];
  for (const name of names) chosen.push(await contenders[name].tokensOf(given));
  for (let round = -WARMING; round < rounds; round++)
    for (const name of names) {
      for (let n = 0; n < PAUSES; n++) await breathe();
      const rate = await contenders[name].rateOf(given);
      if (round >= 0) rates[name].push(rate);
    }
  return { rates, alike: alikeIn(chosen), variant: contenders.headwise.variant };
}

function alikeIn([a, b]) {
  const first = a.findIndex((token, n) => token !== b[n]);
  return first < 0 ? a.length : first;
}
