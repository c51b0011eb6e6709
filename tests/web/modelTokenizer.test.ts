// From text to tokens, by a library of the caller's choice.

import { describe, expect, test } from "@jest/globals";
import { Tokenizer as LibraryTokenizer } from "@huggingface/tokenizers";
import { createAttention, OptionError } from "headwise";
import { loadModel, loadTokenizer } from "headwise/models";

import { CONFIGS, filesOf, randomWeights, shapesOf, textFile } from "./smallModels.js";
import { thrownBy } from "./thrownBy.js";

const WORDS = ["[PAD]", "[UNK]", "the", "cat", "sat", "on", "mat"];

/** A file as the library's makers write it: words between spaces. */
const TOKENIZER = {
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: [
    { id: 1, content: "[UNK]", special: true, single_word: false, lstrip: false, rstrip: false, normalized: false },
  ],
  normalizer: { type: "Lowercase" },
  pre_tokenizer: { type: "Whitespace" },
  post_processor: null,
  decoder: null,
  model: {
    type: "WordPiece",
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(WORDS.map((word, n) => [word, n])),
  },
};

const files = {
  "tokenizer.json": textFile(TOKENIZER),
  "tokenizer_config.json": textFile({ tokenizer_class: "PreTrainedTokenizerFast" }),
};

describe("A tokenizer", () => {
  test("of @huggingface/tokenizers is made from the files", async () => {
    const tokenizer = await loadTokenizer(files, LibraryTokenizer);
    const tokens = tokenizer.encode("The cat sat on the dog");
    expect(tokens).toEqual([2, 3, 4, 5, 2, 1]);
    expect(tokenizer.decode(Int32Array.of(2, 3, 4))).toBe("the cat sat");
    expect(tokenizer.decode(tokens, { skip_special_tokens: true })).toBe("the cat sat on the");
  });

  test("needs no tokenizer_config.json", async () => {
    const { "tokenizer.json": only } = files;
    const tokenizer = await loadTokenizer({ "tokenizer.json": only }, LibraryTokenizer);
    expect(tokenizer.encode("mat")).toEqual([6]);
  });

  test("comes with a model, which takes its tokens", async () => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const all = { ...filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))), ...files };
    const model = await loadModel(hw, all, { tokenizer: LibraryTokenizer });
    const { logits } = await model.run(model.tokenizer!.encode("the cat"));
    expect(logits!.shape).toEqual([2, 29]);
    const plain = await loadModel(hw, all);
    expect(plain.tokenizer).toBeUndefined();
    hw.dispose();
  });

  test.each([
    ["a list", [4, 2]],
    ["BigInts in input_ids", { input_ids: BigInt64Array.of(4n, 2n) }],
    ["numbers in ids", { ids: Uint32Array.of(4, 2) }],
  ])("may be an object whose encode gives %s", async (_, encoded) => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const given: unknown[] = [];
    const tokenizer = {
      encode: (...all: unknown[]) => (given.push(all), encoded),
      decode: (tokens: number[]) => tokens.join("+"),
    };
    const model = await loadModel(hw, filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))), { tokenizer });
    expect(model.tokenizer!.encode("x", { pair: "y" })).toEqual([4, 2]);
    expect(given).toEqual([["x", { pair: "y" }]]);
    expect(model.tokenizer!.decode(new Set([1, 2]))).toBe("1+2");
    hw.dispose();
  });

  test.each<[string, unknown, string]>([
    ["a promise", Promise.resolve([4, 2]), "a Promise"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
    ["a text", "42", '"42"'],
    ["lists in a list", { input_ids: [[4, 2]] }, "[[4, 2]]"],
    ["an object without tokens", {}, "an empty object"],
  ])("whose encode gives %s throws an error that says so", async (_, encoded, got) => {
    class Library {
      encode = () => encoded;
      decode = () => "";
    }
    const tokenizer = await loadTokenizer(files, Library);
    const error = thrownBy(() => tokenizer.encode("x"));
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toBe(
      `tokenizer.encode: the library must give a list of tokens, or an object with it as ids or input_ids, got ${got}`,
    );
  });

  test.each([undefined, null, "4", -1, 1.5, NaN])("of a library that gives %p as a token is refused", async (token) => {
    const library = { encode: () => [3, token], decode: () => "" };
    const tokenizer = await loadTokenizer(files, library as never);
    const error = thrownBy(() => tokenizer.encode("x"));
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toContain("tokenizer.encode: the library must give integers of 0 or more as tokens, got ");
    expect(error.message).toMatch(/ as token 1$/);
  });

  test("takes one text, and tokens that can be listed", async () => {
    const tokenizer = await loadTokenizer(files, LibraryTokenizer);
    for (const text of [undefined, 5, ["the"]] as never[])
      expect(() => tokenizer.encode(text)).toThrow("tokenizer.encode: text must be a string, got");
    for (const tokens of [undefined, 5, "23", {}] as never[])
      expect(() => tokenizer.decode(tokens)).toThrow("tokenizer.decode: tokens must be a list of tokens, got");
    expect(tokenizer.encode("")).toEqual([]);
    expect(tokenizer.decode([])).toBe("");
  });

  test("without its file, or that cannot encode, is refused", async () => {
    await expect(loadTokenizer({}, LibraryTokenizer)).rejects.toThrow("loadTokenizer: files must have tokenizer.json");
    const error: unknown = await loadTokenizer(files, class {} as never).catch((reason: unknown) => reason);
    expect(OptionError.is(error)).toBe(true);
    expect((error as Error).message).toContain("tokenizer must be a class, or an object with encode and decode");
  });
});
