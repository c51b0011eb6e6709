// Generation with a small trained model, stories260K: 5 layers of width 64. Its steps are so short that what a step costs
// besides its products decides.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { summary } from "../harness/statistics.mjs";

const cases = process.env.HEADWISE_CASES ?? fileURLToPath(new URL("../../../../shared/cases", import.meta.url));
const FOLDER = path.join(cases, "models/stories260K");
const TOKENS = 256;

/** The median of tokens a second, or undefined if the checkpoint is not on this machine. */
export async function storiesOf({ createAttention, loadModel, threads, rounds }) {
  if (!existsSync(FOLDER)) return undefined;
  const read = (name) => new Uint8Array(readFileSync(path.join(FOLDER, name)));
  const hw = await createAttention({ backend: "wasm", threads });
  const model = await loadModel(hw, {
    "config.json": read("config.json"),
    "model.safetensors": read("model.safetensors"),
  });
  const rates = [];
  for (let round = 0; round <= rounds; round++) rates.push(await rateOf(model));
  model.dispose();
  hw.dispose();
  return summary(rates.slice(1)).median; // the first round warms up
}

async function rateOf(model) {
  const begun = performance.now();
  const steps = model.generate([1], { maxNewTokens: TOKENS, stopTokens: [] });
  while (!(await steps.next()).done);
  return (1000 * TOKENS) / (performance.now() - begun);
}
