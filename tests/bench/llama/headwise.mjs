import { configOf } from "./shapes.mjs";
import { safetensorsModel } from "./safetensorsModel.mjs";

/** headwise with int8 weights, in a module worker. */
export async function openHeadwise(shape, threads) {
  const worker = new Worker(new URL("headwiseWorker.mjs", import.meta.url), { type: "module" });
  const ask = (message, transfer = []) =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
      worker.onerror = ({ message }) => reject(new Error(message ?? "the worker does not start"));
      worker.postMessage(message, transfer);
    });
  const weights = safetensorsModel(shape);
  const { variant } = await ask({ config: configOf(shape), weights, threads }, [weights.buffer]);
  return {
    variant,
    tokensOf: async (given) => (await ask(given)).chosen,
    rateOf: async (given) => (await ask(given)).rate,
  };
}
