import { ggufModel } from "./ggufModel.mjs";

const FOLDER = "/tests/bench/node_modules/@wllama/wllama/esm";
const CONTEXT = 512;
/** The likeliest token, found by the shortest chain of samplers. */
const GREEDY = { temperature: 0, top_k: 1, samplers: ["top_k"], ignore_eos: true };

/**
 * llama.cpp on the CPU. Since version 3, wllama has one way to generate: `createCompletion`, in which the page asks its worker
 * for each token. Without `stream` the text comes at the end, which costs least. The times are llama.cpp's own.
 */
export async function openWllama(shape, threads, report) {
  const { LogLevel, Wllama } = await import(`${FOLDER}/index.js`);
  const silent = () => {};
  const logger = { debug: silent, log: silent, warn: silent, error: (...parts) => report(parts.join(" ")) };
  const wllama = new Wllama({ default: `${FOLDER}/wasm/wllama.wasm` }, { logger });
  const options = { n_ctx: CONTEXT, n_threads: threads, n_gpu_layers: 0, n_parallel: 1, log_level: LogLevel.ERROR };
  await wllama.loadModel([new Blob([ggufModel(shape)])], options);
  if (wllama.getNumThreads() !== threads) throw new Error(`wllama has ${wllama.getNumThreads()} threads`);
  const complete = ({ prompt, tokens }, more) =>
    wllama.createCompletion({ prompt, max_tokens: tokens, cache_prompt: false, ...GREEDY, ...more });
  return {
    tokensOf: async (given) => (await complete(given, { n_probs: 1 })).choices[0].logprobs.content.map(({ id }) => id),
    rateOf: async (given) => rateIn(await complete(given), given),
  };
}

/** The time begins with the first token. */
function rateIn({ timings: { predicted_n: count, predicted_ms: milliseconds } }, { tokens }) {
  if (count !== tokens) throw new Error(`wllama generated ${count} tokens, not ${tokens}`);
  return (1000 * (count - 1)) / milliseconds;
}
