import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { expect } from "@jest/globals";
import type { Attention } from "headwise";
import { loadModel } from "headwise/models";

// stories260K: a small trained checkpoint whose greedy text is published (doc/stories260K.md of karpathy/llama2.c, MIT). Its
// files are not part of this repository.

const cases = process.env.HEADWISE_CASES ?? fileURLToPath(new URL("../../../shared/cases", import.meta.url));
const folder = path.join(cases, "models/stories260K");

export const hasStories = existsSync(folder);
export const storiesTitle = hasStories
  ? "The checkpoint stories260K"
  : `The checkpoint stories260K (skipped: there is no folder ${folder})`;

const read = (name: string) => new Uint8Array(readFileSync(path.join(folder, name)));

/** The bytes of a token's text. A byte by itself is written as in <0x0A>. */
function textOf(bytes: Uint8Array): Uint8Array {
  const [, byte] = /^<0x([0-9A-F]{2})>$/.exec(new TextDecoder().decode(bytes)) ?? [];
  return byte ? Uint8Array.of(Number.parseInt(byte, 16)) : bytes;
}

/** The texts of the tokens: after the length of the longest, for each a score, its length and its bytes. */
function vocabulary(): Uint8Array[] {
  const bytes = read("tok512.bin");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: Uint8Array[] = [];
  for (let at = 4; at < bytes.length;) {
    const length = view.getInt32(at + 4, true);
    texts.push(textOf(bytes.subarray(at + 8, at + 8 + length)));
    at += 8 + length;
  }
  return texts;
}

/** The likeliest tokens, of which the whole text has 256, are those of the published text, from the token 1 alone. */
export async function expectStory(hw: Attention, precision: "float32" | "float16", maxNewTokens = 256): Promise<void> {
  const files = { "config.json": read("config.json"), "model.safetensors": read("model.safetensors") };
  const model = await loadModel(hw, files, { precision });
  const texts = vocabulary();
  const story: number[] = [];
  for await (const { token } of model.generate([1], { maxNewTokens, temperature: 0, stopTokens: [] }))
    story.push(...texts[token]!);
  model.dispose();
  const published = new TextDecoder().decode(read("greedy.txt")).trim();
  const own = new TextDecoder().decode(Uint8Array.from(story)).trim();
  const length = Math.min(own.length, published.length);
  expect(own.slice(0, length)).toBe(published.slice(0, length));
  expect(length).toBeGreaterThan(2 * maxNewTokens);
}
