import { expect, test } from "@jest/globals";

import { Tokenizer, type Vocabulary } from "../../web/demo/model/tokenizer.js";
import { printable, tokenNames } from "../../web/demo/model/names.js";
import { modelFiles, original } from "./demoModel.js";

const vocabulary = JSON.parse(new TextDecoder().decode(await modelFiles("vocab.json"))) as Vocabulary;
const tokenizer = new Tokenizer(vocabulary);
const idsOf = (text: string) => tokenizer.encode(text).map(({ id }) => id);
const textsOf = (text: string) => tokenizer.encode(text).map((token) => token.text);

test("a sentence falls into the pieces that readers expect", () => {
  expect(textsOf("They decided to park the car in the park.")).toEqual(
    ["▁They", "▁decided", "▁to", "▁park", "▁the", "▁car", "▁in", "▁the", "▁park", "."], // oxfmt-ignore
  );
});

test.each([
  ["nothing", ""],
  ["one space", " "],
  ["runs of spaces", "  two  spaces  "],
  ["a tab and a line feed", "tab\there\nthere"],
  ["compatibility forms", "ﬁne ① Ⅷ ｆｕｌｌ ½ e\u0301 \u00a0nbsp"],
  ["unknown characters, alone and in runs", "日本語 x 日 😀😀 👩‍👩‍👧 end 日"],
  ["right to left", "مرحبا بالعالم שלום"],
  ["pieces without a score", ": :: ://a ▁:) :( ): :-) 12:30 12:00 a:"],
  ["control symbols spelt out", "<s> </s> extra_token_id_1 �"],
  ["a literal ▁", "▁▁ a▁b"],
  ["half a surrogate pair", "a\ud83d b"],
  ["a piece that the vocabulary holds twice", "”5 x”5"],
])("ids are those of the model's own tokenizer: %s", (_, text) => {
  expect(idsOf(text)).toEqual(original.tokenizer.encode(text));
});

test("ids are those of the model's own tokenizer on 2,000 random texts", () => {
  const alphabet = [...vocabulary.map(([piece]) => piece.replaceAll("▁", " ")), " ", " ", "日", "😀", ":", "\t"];
  let state = 1;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let i = 0; i < 2000; i++) {
    const text = Array.from({ length: 1 + random(12) }, () => alphabet[random(alphabet.length)]).join("");
    expect({ text, ids: idsOf(text) }).toEqual({ text, ids: original.tokenizer.encode(text) });
  }
});

test("tokens spell the normalised text, unknown characters included", () => {
  expect(textsOf("a 日本 😀").join("")).toBe("▁a▁日本▁😀");
});

test("names tell equal tokens apart by their positions and hide control characters", () => {
  expect(tokenNames(["▁park", "▁the", "▁park", "▁", "\u001b[2J"])).toEqual(["park₁", "the", "park₃", "▁", "�[2J"]);
});

test("joiners stay where they join, and are shown where they hide", () => {
  const joined = ["👩‍🚀", "👩🏽‍🚀", "❤️‍🔥", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "می‌خواهم", "क्‍ष"];
  expect(joined.map(printable)).toEqual(joined);
  expect(["\u200d", "a \u200d b", "👩\u200d", "\u{e0067}\u{e007f}", "🏴\u{e0067}", "\u202eb"].map(printable)).toEqual([
    "�",
    "a � b",
    "👩�",
    "��",
    "🏴�",
    "�b",
  ]);
});
