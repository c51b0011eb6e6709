// GPT-2 small's shape in ONNX Runtime Web on wasm.

import { gpt2Onnx, memoriesOf, NO_PAST } from "./gpt2Onnx.mjs";

/**
 * @param {Uint8Array} file - .safetensors, float32
 * @param {boolean} options.remembers - whether calls get the keys and values that earlier ones gave
 */
export async function openPeer(ort, file, { layers, threads, remembers }) {
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = "error";
  const session = await ort.InferenceSession.create(gpt2Onnx(file, { layers, remembers }), {
    executionProviders: ["wasm"],
  });
  const memories = remembers ? memoriesOf(layers) : [];
  const numbers = (list) => new ort.Tensor("int64", BigInt64Array.from(list, BigInt), [1, list.length]);
  const nothing = () => new ort.Tensor("float32", NO_PAST.data, NO_PAST.shape);
  return {
    /** The scores of the last token, and what the next call needs to remember. */
    async call(tokens, { from = 0, past = [] } = {}) {
      const feeds = { tokens: numbers(tokens), positions: numbers(tokens.map((_, n) => from + n)) };
      memories.forEach(([name], n) => (feeds[name] = past[n] ?? nothing()));
      const results = await session.run(feeds);
      return { scores: results.scores.data, past: memories.map(([, name]) => results[name]) };
    },
    release: () => session.release(),
  };
}
