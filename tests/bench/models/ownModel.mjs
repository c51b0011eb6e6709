// A model of GPT-2 small's shape and random weights in headwise, on wasm.

import { configOf } from "../lab/gpt2Small.mjs";

export async function openOwn({ createAttention, loadModel, layers, threads }, file) {
  const hw = await createAttention({ backend: "wasm", threads, maximumMemory: 2 ** 31 });
  const json = new TextEncoder().encode(JSON.stringify(configOf(layers)));
  const model = await loadModel(hw, { "config.json": json, "model.safetensors": file });
  const dispose = () => {
    model.dispose();
    hw.dispose();
  };
  return { model, dispose };
}
