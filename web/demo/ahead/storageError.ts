import type { Encoder } from "../model/encoder.js";
import { headsOf } from "../model/heads.js";
import type { StorageError } from "../model/packed.js";
import { similarity } from "../model/similarity.js";
import { FIRST_SENTENCES } from "../model/story.js";

/** Sentences of many kinds: short and long, repetitive, in other scripts, of symbols. */
export const MEASURED_SENTENCES: readonly string[] = [
  ...FIRST_SENTENCES,
  "a",
  "Hello!",
  "How old are you?",
  "What is your age?",
  "The quick brown fox jumps over the lazy dog.",
  "WHY ARE YOU SHOUTING?!",
  "“Quoted”, she said; (in brackets) — and then… nothing!",
  "naïve café, Zürich, œuvre, Ærøskøbing",
  "日本語のテキスト",
  "Привет, мир!",
  "x = (a + b) * c / 2.5e-3; // a comment",
  "https://example.com/path?query=1&other=two#part",
  "12:30 on 2026-11-21, 3.14159, $1,000,000 and 50 %",
  "Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo.",
  "Attention weights say which words a word looks at, and positions say where these words stand.",
  "The bank of the river is not the bank that lends money.",
  "word ".repeat(40).trim(),
  "The cat sat on the mat, and the dog lay by the door. ".repeat(8).trim(),
];

/** Compares a stored model with the original, over all measured sentences with positions and without. */
export async function storageError(original: Encoder, stored: Encoder): Promise<Omit<StorageError, "megabytes">> {
  let [cosine, weight] = [1, 0];
  for (const text of MEASURED_SENTENCES)
    for (const positions of [true, false]) {
      const [wanted, found] = [await original.encode(text, { positions }), await stored.encode(text, { positions })];
      cosine = Math.min(cosine, similarity(wanted.embedding, found.embedding));
      const heads = headsOf(found);
      headsOf(wanted).forEach(({ probs }, head) =>
        probs.forEach((prob, i) => (weight = Math.max(weight, Math.abs(prob - heads[head]!.probs[i]!)))),
      );
    }
  return { sentences: MEASURED_SENTENCES.length, cosine, weight };
}
