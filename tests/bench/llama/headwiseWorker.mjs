// headwise in a worker, which may block. The first message loads the model, every later one generates.

import { createAttention } from "../../../dist/index.js";
import { loadModel } from "../../../dist/models.js";

let model;

self.onmessage = async ({ data }) => {
  try {
    self.postMessage(await (model ? generate(data) : load(data)));
  } catch (error) {
    self.postMessage({ error: String(error.stack) });
  }
};

async function load({ config, weights, threads }) {
  const hw = await createAttention({ backend: "wasm", threads, maximumMemory: 2 ** 31 });
  const json = new TextEncoder().encode(JSON.stringify(config));
  model = await loadModel(hw, { "config.json": json, "model.safetensors": weights }, { precision: "int8" });
  return { variant: hw.report.variant };
}

/** The tokens, and how many a second come after the first one, which reads the prompt. */
async function generate({ promptTokens, tokens }) {
  const chosen = [];
  let first;
  for await (const { token } of model.generate(promptTokens, {
    maxNewTokens: tokens,
    temperature: 0,
    stopTokens: [],
  })) {
    first ??= performance.now();
    chosen.push(token);
  }
  return { chosen, rate: (1000 * (tokens - 1)) / (performance.now() - first) };
}
