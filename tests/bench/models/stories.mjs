// Generation with a small trained model, stories260K: 5 layers of width 64. Its steps are so short that what a step costs
// besides its products decides.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { summary } from "../harness/statistics.mjs";

const cases = process.env.HEADWISE_CASES ?? fileURLToPath(new URL("../../../../shared/cases", import.meta.url));
const FOLDER = path.join(cases, "models/stories260K");
const TOKENS = 256;
/** Rounds before the first that counts: until then the engine of JavaScript still compiles. */
const WARMING = 6;

/**
 * The medians of tokens a second: with a recorded step for each token, and call by call, which `returns` asks for. undefined if
 * the checkpoint is not on this machine.
 */
export async function storiesOf({ createAttention, loadModel, threads, rounds }) {
  if (!existsSync(FOLDER)) return undefined;
  const read = (name) => new Uint8Array(readFileSync(path.join(FOLDER, name)));
  const hw = await createAttention({ backend: "wasm", threads });
  const model = await loadModel(hw, {
    "config.json": read("config.json"),
    "model.safetensors": read("model.safetensors"),
  });
  const rates = { first: await rateOf(model, {}), steps: [], calls: [] };
  for (let round = 0; round < WARMING; round++) await rateOf(model, {});
  for (let round = 0; round < rounds; round++) {
    rates.steps.push(await rateOf(model, {}));
    rates.calls.push(await rateOf(model, { returns: {} }));
  }
  model.dispose();
  hw.dispose();
  return { first: rates.first, steps: summary(rates.steps).median, calls: summary(rates.calls).median };
}

async function rateOf(model, options) {
  const begun = performance.now();
  const steps = model.generate([1], { maxNewTokens: TOKENS, stopTokens: [], ...options });
  while (!(await steps.next()).done);
  return (1000 * TOKENS) / (performance.now() - begun);
}
