// web/docs/options.md has a row for every option of an instance's calls. What a call knows, its own error says.

import { readFileSync } from "node:fs";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  createAttention,
  HeadwiseError,
  type Attention,
  type AttentionBackwardOptions,
  type LinearBackwardOptions,
} from "headwise";

const page = readFileSync("web/docs/options.md", "utf8");

/** The names in the first cells of all tables. */
const described = new Set(
  [...page.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)/g)].map(([, name]) => name!)),
);

let hw: Attention;
beforeAll(async () => (hw = await createAttention({ backend: "wasm", threads: 1 })));
afterAll(() => hw.dispose());

const x = { data: new Float32Array(8).fill(1), shape: [1, 2, 4] };
const weights = { Wq: { data: new Float32Array(16), shape: [4, 4] } };
const layer = () =>
  hw.multiHeadAttention({ numHeads: 2, weights: { ...weights, Wk: weights.Wq, Wv: weights.Wq, Wo: weights.Wq } });
const cache = () => hw.kvCache({ numKvHeads: 1, headDim: 4 });
const wrong = { noSuchOption: 1 } as object;

async function layerBackward() {
  const own = await layer();
  const { output, saved } = await own.forward(x, { save: true });
  return own.backward(saved, output, wrong);
}

const calls: readonly [string, () => Promise<unknown>][] = [
  ["createAttention", () => createAttention(wrong)],
  ["scaledDotProductAttention", () => hw.scaledDotProductAttention(x, x, x, wrong)],
  ["multiHeadAttention", () => hw.multiHeadAttention({ numHeads: 1, weights, ...wrong })],
  ["layer.forward", async () => (await layer()).forward(x, wrong)],
  ["rotaryEmbedding", () => hw.rotaryEmbedding(x, wrong)],
  ["kvCache", () => hw.kvCache({ numKvHeads: 1, headDim: 4, ...wrong })],
  ["cache.append", async () => (await cache()).append(x, x, wrong)],
  ["cache.attend", async () => (await cache()).attend(x, wrong)],
  ["attentionBackward", () => hw.attentionBackward(wrong as AttentionBackwardOptions)],
  ["layer.backward", layerBackward],
  ["linear", () => hw.linear(x, weights.Wq, undefined, wrong)],
  ["linearBackward", () => hw.linearBackward(wrong as LinearBackwardOptions)],
  ["mergeAttention", () => hw.mergeAttention([], wrong)],
  ["warmup", () => hw.warmup({ numHeads: 1, queryLength: 1, headDim: 4 }, wrong)],
];

/** The names in "Known options: a, b." */
async function knownBy(call: () => Promise<unknown>): Promise<string[]> {
  const error: unknown = await call().catch((reason: unknown) => reason);
  if (!HeadwiseError.is(error)) throw error;
  return /Known options: (.*?)\./.exec(error.hint)![1]!.split(", ");
}

test.each(calls)("every option of %s has a row", async (_, call) => {
  const known = await knownBy(call);
  expect(known.length).toBeGreaterThan(3);
  expect(known.filter((name) => !described.has(name))).toEqual([]);
});
