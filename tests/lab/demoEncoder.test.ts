import { afterAll, describe, expect, test } from "@jest/globals";
import { createAttention } from "headwise";

import { Encoder, LAYERS, MAX_TOKENS } from "../../web/demo/model/encoder.js";
import { headsOf, rowOf } from "../../web/demo/model/heads.js";
import { similarity } from "../../web/demo/model/similarity.js";
import { PARK, PHONE, firstRepetition, largestRowDifference, positionsOf } from "../../web/demo/model/story.js";
import { modelFiles, original } from "./demoModel.js";

const hw = await createAttention();
const encoder = await Encoder.load(hw, modelFiles);
afterAll(() => {
  encoder.dispose();
  hw.dispose();
});

const SENTENCES: readonly string[] = [
  PARK,
  PHONE,
  "hello",
  "a",
  ".",
  ":",
  " ",
  "I.",
  "The quick brown fox jumps over the lazy dog.",
  "WHY ARE YOU SHOUTING?!",
  "“Quoted”, she said; (in brackets) — and then… nothing!",
  "ﬁne ① Ⅷ ｆｕｌｌ width, e\u0301 and \u00a0 spaces",
  "日本語のテキスト",
  "Mixed 日本語 and English 😀😀 in one line",
  "Привет, мир!",
  "مرحبا بالعالم",
  "naïve café, Zürich, œuvre, Ærøskøbing",
  "x = (a + b) * c / 2.5e-3; // a comment",
  "https://example.com/path?query=1&other=two#part",
  "   leading,  doubled   and trailing spaces   ",
  "tab\tand\nline feed",
  "12:30 on 2026-11-21, 3.14159, $1,000,000 and 50 %",
  "<s> extra_token_id_1 </s>",
  "Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo.",
  "word ".repeat(127).trim(),
  "word ".repeat(128).trim(),
  "word ".repeat(129).trim(),
  "The cat sat on the mat, and the dog lay by the door. ".repeat(40),
];

describe("embeddings equal those of the model's own graph under TensorFlow.js to 1e-5", () => {
  test.each(
    SENTENCES.map((text) => [text.length > 60 ? `${text.slice(0, 50)}… (${text.length} characters)` : text, text]),
  )("%j", async (_, text) => {
    const [expected] = await original.embed([text]);
    const { embedding } = await encoder.encode(text);
    expect(embedding).toHaveLength(512);
    expect(Math.max(...embedding.map((value, i) => Math.abs(value - expected![i]!)))).toBeLessThanOrEqual(1e-5);
  });

  test("an empty text, which the original accepts only together with another text", async () => {
    const [expected] = await original.embed(["", "hello"]);
    const { tokens, embedding } = await encoder.encode("");
    expect(tokens).toEqual([]);
    expect(Math.max(...embedding.map((value, i) => Math.abs(value - expected![i]!)))).toBeLessThanOrEqual(1e-5);
  });
});

test("a text beyond 128 tokens says how many are left out", async () => {
  const { tokens, tokensLeftOut, layers } = await encoder.encode("word ".repeat(200).trim());
  expect(tokens).toHaveLength(MAX_TOKENS);
  expect(tokensLeftOut).toBe(200 - MAX_TOKENS);
  expect(layers[0]!.probs).toHaveLength(LAYERS[0]!.numHeads * MAX_TOKENS ** 2);
});

test("every row of every head sums to 1 and is the softmax of its scores", async () => {
  const encoding = await encoder.encode(PHONE);
  const heads = headsOf(encoding);
  expect(heads).toHaveLength(8);
  for (const { probs, scores } of heads) {
    for (let from = 0; from < encoding.tokens.length; from++) {
      const row = rowOf(probs, from);
      expect(row.reduce((sum, prob) => sum + prob, 0)).toBeCloseTo(1, 6);
      const weights = Array.from(rowOf(scores, from), Math.exp);
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      weights.forEach((weight, to) => expect(row[to]).toBeCloseTo(weight / total, 5));
    }
  }
});

test("without positions the two rows of “park” are equal, with them they differ", async () => {
  const placed = await encoder.encode(PARK);
  const unplaced = await encoder.encode(PARK, { positions: false });
  const [first, second] = positionsOf(placed, "park");
  expect([first, second]).toEqual([3, 8]);
  expect(largestRowDifference(unplaced, first!, second!)).toBe(0);
  expect(largestRowDifference(placed, first!, second!)).toBeGreaterThan(0.5);
  expect(firstRepetition(placed)).toEqual([3, 8]);
});

test("attention is not symmetric: phone scores RAM otherwise than RAM scores phone", async () => {
  const encoding = await encoder.encode(PHONE);
  const [phone] = positionsOf(encoding, "phone");
  const [ram] = positionsOf(encoding, "RAM");
  for (const { scores } of headsOf(encoding)) {
    expect(Math.abs(rowOf(scores, phone!)[ram!]! - rowOf(scores, ram!)[phone!]!)).toBeGreaterThan(0.1);
  }
});

test("similar sentences have similar embeddings", async () => {
  const embed = async (text: string) => (await encoder.encode(text)).embedding;
  const [question, paraphrase, other] = [
    await embed("How old are you?"),
    await embed("What is your age?"),
    await embed(PHONE),
  ];
  expect(similarity(question, question)).toBeCloseTo(1, 5);
  expect(similarity(question, paraphrase)).toBeGreaterThan(similarity(question, other) + 0.3);
});

test("progress ends at the size of all weights", async () => {
  let last = { loaded: 0, total: 1 };
  const other = await Encoder.load(hw, modelFiles, (loaded, total) => (last = { loaded, total }));
  other.dispose();
  expect(last).toEqual({ loaded: 27_903_656, total: 27_903_656 });
});

test("a shard that is cut short is refused", async () => {
  const cut = (name: string) => modelFiles(name).then((bytes) => (name.endsWith("7of7") ? bytes.subarray(4) : bytes));
  await expect(Encoder.load(hw, cut)).rejects.toThrow("a shard is cut short");
});
