// Whole models in the room Your model, without a browser: the address, what is computed, what is said.

import { readFileSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { hub, inspectModel } from "headwise/models";
import { random } from "headwise/train";

import { interventionsOf } from "../../web/demo/lab/engine/headChanges.js";
import { isModelName, namesIn } from "../../web/demo/lab/engine/hubModels.js";
import type { Habit, HeadChange, ModelFacts, ModelOrder, Seen } from "../../web/demo/lab/engine/modelProtocol.js";
import { largestOf, movedShare, probabilitiesOf, rowCosines } from "../../web/demo/lab/engine/predictions.js";
import { MOST_TOKENS, ReadModel, repeatedTokens } from "../../web/demo/lab/engine/readModel.js";
import { troubleWords } from "../../web/demo/lab/engine/trouble.js";
import {
  loadWords,
  notesOf,
  planFinding,
  precisionWords,
  refusalWords,
} from "../../web/demo/lab/rooms/tensors/model/planWords.js";
import { changed, changesOf, EXAMPLE_TEXT, modelFields, numbersOf, orderOf, placeOf, textOf } from "../../web/demo/lab/rooms/tensors/model/settings.js"; // oxfmt-ignore
import { share } from "../../web/demo/lab/rooms/tensors/model/share.js";
import { changesWords, finding, habitOf, habitWords, leftWords, lookFor, sharesWords } from "../../web/demo/lab/rooms/tensors/model/words.js"; // oxfmt-ignore
import { State } from "../../web/demo/lab/shell/state.js";
import { gpt2Files } from "../../web/demo/train/gpt2Files.js";
import { asParameters, initialParameters, Model } from "../../web/demo/train/model.js";
import { REPEAT_CHARACTERS } from "../../web/demo/train/repeat.js";
import { readStored } from "../../web/demo/train/storedWeights.js";
import { FAMILY_MODELS } from "../web/familyModels.js";
import { CONFIGS, filesOf, randomWeights, shapesOf, textFile, type Kind } from "../web/smallModels.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const FACTS: ModelFacts = {
  ...{ type: "gpt2", layers: 2, heads: 4, width: 64, vocabulary: 64, longest: 64 },
  ...{ hasTokenizer: true, isCausal: true, bytes: 1000, threads: 1 },
};
const settings = (query = "") => new State(modelFields, new URLSearchParams(query)).values;

describe("The address of a model", () => {
  test("says what heads are made to do; what is no change is left out", () => {
    expect(changesOf("1.0:off, 2.11:mean,0.1:off,3.1:loud,x,1.0:mean")).toEqual([
      { layer: 1, head: 0, kind: "off" },
      { layer: 2, head: 11, kind: "mean" },
    ]);
  });

  test("gets a change, another one of the same head, and none", () => {
    const place = { layer: 1, head: 3 };
    const one = changed("2.0:off", place, "mean");
    expect(one).toBe("1.3:mean,2.0:off");
    expect(changed(one, place, "previous")).toBe("1.3:previous,2.0:off");
    expect(changed(one, place, undefined)).toBe("2.0:off");
  });

  test("names heads", () => {
    expect(placeOf("12.0")).toEqual({ layer: 12, head: 0 });
    for (const wrong of ["0.1", "1", "1.x", "-1.2", ""]) expect(placeOf(wrong)).toBeUndefined();
  });

  test("holds numbers of tokens; another word is an error that shows it", () => {
    expect(numbersOf(" 5 7, 5;7 ")).toEqual([5, 7, 5, 7]);
    expect(() => numbersOf("5 cat 7")).toThrow("“cat” is no number of a token");
  });

  test("gives an order; changes of heads that the model does not have are left out", () => {
    const order = orderOf(settings("text=Hi&at=3&changes=2.3:off,2.4:off,3.0:off&threshold=0.4"), FACTS, false);
    expect(order).toEqual({
      input: { text: "Hi" },
      at: 3,
      changes: [{ layer: 2, head: 3, kind: "off" }],
      threshold: 0.4,
    });
    expect(orderOf(settings("text=Hi&numbers=4 5"), { ...FACTS, hasTokenizer: false }, false).input).toEqual({
      numbers: [4, 5],
    });
  });

  test("without a text there is one that suits the model", () => {
    expect(textOf(settings(), FACTS, true)).toBe(EXAMPLE_TEXT);
    expect(textOf(settings(), { ...FACTS, isCausal: false }, false)).toMatch(/\[MASK\]/);
    expect(textOf(settings(), { ...FACTS, isCausal: false, type: "roberta" }, false)).toMatch(/<mask>/);
    expect(textOf(settings(), FACTS, false)).toMatch(/^(The cat sat on the).*\1$/);
  });
});

describe("Predictions", () => {
  const [a, b] = [1, 2].map((seed) => probabilitiesOf(random(seed).normal([50], 3).data)) as [
    Float64Array,
    Float64Array,
  ];

  test("have probabilities that sum to 1, and no overflow", () => {
    expect(a.reduce((sum, value) => sum + value)).toBeCloseTo(1, 12);
    expect([...probabilitiesOf(Float32Array.of(1e30, 1e30, -1e30))]).toEqual([0.5, 0.5, 0]);
  });

  test("the largest of two lists are those of a full sort", () => {
    const size = (at: number) => Math.max(a[at]!, b[at]!);
    const sorted = [...a.keys()].sort((left, right) => size(right) - size(left));
    expect(largestOf(a, b, 7)).toEqual(sorted.slice(0, 7));
    expect(largestOf(a, b, 99)).toEqual(sorted);
  });

  test("what moves is 0 for the same, and 1 for others entirely", () => {
    expect(movedShare(a, a)).toBe(0);
    expect(movedShare(Float64Array.of(1, 0), Float64Array.of(0, 1))).toBe(1);
  });

  test("states are compared by the cosine of each row", () => {
    const cosines = rowCosines(Float32Array.of(1, 0, 3, 4), Float32Array.of(0, 2, 6, 8), 2);
    expect(cosines).toEqual([0, 1]);
  });
});

describe("Changes as options of model.run", () => {
  const sizes = { names: ["a", "b"], heads: 3, tokens: 4 };

  test("a head that is off has the gain 0, in its own layer only", () => {
    expect(interventionsOf([{ layer: 2, head: 1, kind: "off" }], sizes)).toEqual({
      headGain: { b: [1, 0, 1] },
      patch: {},
    });
  });

  test("the weights of a head that looks elsewhere are 1 on one key of each row", () => {
    const changes: HeadChange[] = [
      { layer: 1, head: 0, kind: "first" },
      { layer: 1, head: 2, kind: "previous" },
      { layer: 1, head: 1, kind: "mean" },
    ];
    const { patch } = interventionsOf(changes, sizes);
    expect(patch).toEqual({
      a: {
        headOutputs: { heads: [1], data: "mean" },
        probs: {
          heads: [0, 2],
          // oxfmt-ignore
          data: Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0),
          shape: [2, 4, 4],
        },
      },
    });
  });
});

describe("A decoder of the lab as the files of a GPT-2", () => {
  test.each([
    ["learned", 0],
    ["none", 0],
    ["learned", 24],
  ] as const)("computes the same: %s positions, feed-forward %i", async (position, feedForward) => {
    const characters = REPEAT_CHARACTERS;
    const sizes = { vocabulary: characters.count, width: 16, layers: 2, heads: 4, length: 32 };
    const parameters = initialParameters({ ...sizes, position, feedForward }, random(3), 0.3);
    const model = await Model.create(hw, { ...sizes, position, feedForward }, parameters);
    const tokens = [5, 9, 1, 60, 5, 9, 33];
    const { data: wanted } = await model.logits({ data: Int32Array.from(tokens), shape: [1, tokens.length] });
    const read = await ReadModel.open(hw, gpt2Files(parameters, { heads: 4, length: 32, characters }));
    const { effect } = await read.see({ input: { numbers: tokens }, at: undefined, changes: [], threshold: 0.5 });
    const probabilities = probabilitiesOf(wanted.slice(-characters.count));
    if (effect.kind !== "prediction") throw new Error("a GPT-2 predicts tokens");
    // Both sum the same products in float32, in other orders: logits of size 10 differ by some 1e-5.
    for (const { token, before } of effect.candidates)
      expect(Math.abs(before - probabilities[token]!)).toBeLessThan(1e-4);
    expect(effect.candidates[0]!.label).toBe(characters.all[effect.candidates[0]!.token]);
    read.dispose();
    model.dispose();
  });
});

/** The example of the room. */
async function example(): Promise<ReadModel> {
  const parameters = asParameters(readStored(readFileSync("web/demo/decoders/repeat.safetensors")));
  return ReadModel.open(hw, gpt2Files(parameters, { heads: 4, length: 64, characters: REPEAT_CHARACTERS }));
}

const reading = (text: string, changes = ""): ModelOrder => ({
  input: { text },
  at: undefined,
  changes: changesOf(changes),
  threshold: 0.5,
});
const having = (habits: readonly Habit[], kind: string) => habits.filter((habit) => habit.kind === kind);

describe("The example", () => {
  let model: ReadModel;
  beforeAll(async () => {
    model = await example();
  });
  afterAll(() => model.dispose());

  test("has heads that look at the token before in layer 1, and induction heads in layer 2", async () => {
    const { habits, labels, at, effect } = await model.see(reading(EXAMPLE_TEXT));
    expect(labels.join("")).toBe(EXAMPLE_TEXT);
    expect(at).toBe(EXAMPLE_TEXT.length - 1);
    expect(having(habits, "previousToken").some(({ layer }) => layer === 1)).toBe(true);
    expect(having(habits, "induction").every(({ layer }) => layer === 2)).toBe(true);
    expect(having(habits, "induction").length).toBeGreaterThan(0);
    if (effect.kind !== "prediction") throw new Error("a GPT-2 predicts tokens");
    expect([effect.candidates[0]!.label, effect.moved]).toEqual(["L", 0]);
  });

  test("without its heads that look at the token before it does not know any more what follows", async () => {
    const { habits } = await model.see(reading(EXAMPLE_TEXT));
    const off = having(habits, "previousToken").map(({ layer, head }) => `${layer}.${head}:off`);
    const order = reading(EXAMPLE_TEXT, off.join());
    const seen = await model.see(order);
    for (const { before, now } of having(seen.habits, "induction")) expect(now).toBeLessThan(before / 2);
    expect(seen.effect.kind === "prediction" && seen.effect.moved).toBeGreaterThan(0.5);
    expect(finding(model.facts, seen, order.changes)).toMatch(
      /^Layer 1 head \d is off.*the probability of “L” falls from/,
    );
    expect(lookFor(model.facts, seen, order.changes)).toMatch(
      /^Layer 2 head \d \(induction 0\.\d\d → 0\.\d\d\).* need/,
    );
  });

  test("a head that is made to look where it looks anyway changes less than one that is made to look elsewhere", async () => {
    const { habits } = await model.see(reading(EXAMPLE_TEXT));
    const { layer, head } = having(habits, "previousToken")[0]!;
    const moved = async (kind: string) => {
      const seen = await model.see(reading(EXAMPLE_TEXT, `${layer}.${head}:${kind}`));
      const own = seen.probs[layer - 1]!.subarray(head * seen.tokens.length ** 2);
      expect(own[2 * seen.tokens.length + (kind === "first" ? 0 : 1)]).toBe(1);
      return seen.effect.kind === "prediction" ? seen.effect.moved : NaN;
    };
    expect(await moved("previous")).toBeLessThan(await moved("first"));
  });

  test("its weights are those of the definition in double precision", async () => {
    const [difference] = await model.check(reading(EXAMPLE_TEXT), { layer: 2, head: 1 });
    expect(difference!.numbers).toBe(EXAMPLE_TEXT.length ** 2);
    expect(difference!.largest).toBeLessThan(1e-5);
  });

  test("a long text is cut, and that is said", async () => {
    const seen = await model.see(reading("abcdefghij".repeat(8)));
    expect(seen.tokens).toHaveLength(MOST_TOKENS);
    expect(leftWords(seen)).toBe("The room reads at most 64 tokens of this model: the last 16 of yours are left out.");
    expect(leftWords({ left: 0, tokens: [1] })).toBe("");
  });

  test("a text without tokens is an error in words", async () => {
    await expect(model.see(reading(""))).rejects.toThrow("there are no tokens");
  });
});

describe("Models of others", () => {
  const open = (kind: Kind) => ReadModel.open(hw, filesOf(CONFIGS[kind], randomWeights(shapesOf(kind))));
  const numbers = (list: readonly number[], changes = ""): ModelOrder => ({
    ...reading("", changes),
    input: { numbers: list },
  });

  test.each(["gpt2", "llama", "mistral", "qwen2", "qwen3"] as const)("%s: random tokens are repeated", async (kind) => {
    const model = await open(kind);
    const { tokens, labels, probs, effect } = await model.see(numbers([], "1.0:off,2.1:mean,2.2:first,2.3:previous"));
    expect(tokens).toEqual(repeatedTokens(29, 32));
    expect(tokens.slice(0, 12)).toEqual(tokens.slice(12));
    expect(labels).toEqual(tokens.map(String));
    expect(probs.map(({ length }) => length)).toEqual([4 * 24 * 24, 4 * 24 * 24]);
    expect(effect.kind === "prediction" && effect.moved).toBeGreaterThan(0);
    const differences = await model.check(numbers([]), { layer: 2, head: 3 });
    expect(differences[0]!.largest).toBeLessThan(1e-5);
    model.dispose();
  });

  test("BERT: the token in the middle is predicted, since none is hidden", async () => {
    const model = await open("bert");
    expect(model.facts).toMatchObject({ isCausal: false, hasTokenizer: false });
    const seen = await model.see(numbers([3, 4, 5, 6, 7], "1.1:off"));
    expect(seen.at).toBe(2);
    expect(seen.effect.kind).toBe("prediction");
    model.dispose();
  });

  test("RoBERTa predicts hidden tokens, as BERT does", async () => {
    const { config, shapes } = FAMILY_MODELS.roberta;
    const model = await ReadModel.open(hw, filesOf(config, randomWeights(shapes)), { precision: "int8" });
    expect(model.facts.isCausal).toBe(false);
    expect((await model.see(numbers([3, 4, 5, 6, 7]))).at).toBe(2);
    model.dispose();
  });

  test("a model without a head shows which states turn", async () => {
    const weights = new Map([...randomWeights(shapesOf("bert"))].filter(([name]) => !name.startsWith("cls.")));
    const model = await ReadModel.open(hw, filesOf(CONFIGS.bert, weights));
    const plain = await model.see(numbers([3, 4, 5]));
    expect(plain.effect.kind === "states" && plain.effect.cosines.every((cosine) => Math.abs(cosine - 1) < 1e-12)).toBe(
      true,
    );
    const changes = changesOf("2.0:off");
    const seen = await model.see({ ...numbers([3, 4, 5]), changes });
    expect(seen.effect.kind === "states" && Math.min(...seen.effect.cosines)).toBeLessThan(0.9999);
    expect(finding(model.facts, seen, changes)).toMatch(
      /^Layer 2 head 1 is off: the last state of “\d” turns most, to a cosine of/,
    );
    model.dispose();
  });

  test("what the package refuses is refused in its words", async () => {
    const files = {
      ...filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))),
      "config.json": textFile({ model_type: "t5" }),
    };
    await expect(ReadModel.open(hw, files)).rejects.toThrow(/loadModel: config\.json: model_type must be .*"t5"/);
    const model = await open("gpt2");
    await expect(model.see(numbers([29]))).rejects.toThrow(
      /tokens\[0\] must be an integer from 0 to config\.vocabSize − 1/,
    );
    model.dispose();
  });
});

describe("A model on the hub", () => {
  test("has a name that its addresses tell", () => {
    expect(["openai-community/gpt2", "gpt2"].map(isModelName)).toEqual([true, true]);
    expect(["", "a b", "a/b/c", "https://a.example/b"].map(isModelName)).toEqual([false, false, false, false]);
    const addresses = ["b/c", "a", "b/c"].map((name) => `${hub(name)}model.safetensors?headwise-block=1`);
    expect(namesIn([...addresses, "https://a.example/b/resolve/main/x"])).toEqual(["a", "b/c"]);
  });

  test("says how much would be fetched, and from where", () => {
    const plan = { storedBytes: 500 * 2 ** 20 };
    expect(loadWords(plan, undefined)).toBe("Load the model");
    expect(loadWords(plan, "a.example")).toBe(
      "Load the model: fetches about 500 MB from a.example, and keeps them in this browser",
    );
  });

  test.each([
    ["network", /^H could not be reached\. Look at the network, and try again/],
    ["policy", /^H sends files of o\/n from another server, .*connect-src.* choose their folder here$/],
    ["name", /^H has no model “o\/n” that everybody may read\. Look at the spelling/],
    ["model", /^o\/n came from H, and it is no model that this page can run \(W\)\. Choose a GPT-2/],
  ] as const)("that did not come because of the %s says what to do", (what, words) => {
    expect(troubleWords({ kind: "hub", what, host: "H", name: "o/n", why: "W" })).toMatch(words);
  });
});

describe("The plan of a model", () => {
  const planOf = (config: object, maximumMemory?: number) =>
    inspectModel({ ...filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))), "config.json": textFile({ ...CONFIGS.gpt2, ...config }) }, { maximumMemory }); // oxfmt-ignore

  test("says its sizes, and what each precision takes", async () => {
    const plan = await planOf({ use_cache: true });
    expect(planFinding(plan)).toMatch(
      /^A model of the type GPT-2 with 2 layers of 4 heads, 16 wide: [\d,.]+ (thousand )?weights, \d+ KB in the files\. No weight has been read yet\.$/,
    );
    expect(precisionWords(plan, "int8")).toMatch(/^int8: [\d.]+ KB$/);
    expect(refusalWords(plan)).toBeUndefined();
    expect(notesOf(plan).at(-1)).toMatch(/^These fields of config\.json change nothing: .*use_cache/);
  });

  test("says in one sentence why a model cannot be loaded", async () => {
    const plan = await planOf({ attention_multiplier: 2, logits_scaling: 3 });
    expect(planFinding(plan)).toBe(
      "This model is refused: it is not known what attention_multiplier and logits_scaling of config.json change.",
    );
    const small = { ...plan, unknownFields: [], fits: [], limitBytes: 2 ** 20 };
    expect(planFinding(small)).toMatch(
      /^This model does not fit: it needs at least .*, and the engine can have 1\.0 MB\.$/,
    );
    expect(precisionWords(small, "float32")).toMatch(/^float32: [\d.]+ KB; it does not fit, because loading needs /);
    expect(planFinding({ ...plan, unknownFields: [], missingFiles: ["a.safetensors", "b.safetensors"] })).toBe(
      "This model cannot be loaded: a.safetensors and b.safetensors are missing.",
    );
  });

  test("writes out five names of many", async () => {
    const plan = await planOf({});
    const unusedTensors = ["a", "b", "c", "d", "e", "f", "g"];
    expect(notesOf({ ...plan, unusedTensors })[0]).toBe(
      "Nothing reads 7 tensors of the files: a, b, c, d, e and 2 more.",
    );
  });
});

describe("What is said", () => {
  test("a probability, everywhere in the same way: only nothing is 0 %, and only everything is 100 %", () => {
    expect([0, 0.0004, 0.001, 0.1234, 0.999, 0.9996, 1].map(share)).toEqual([
      "0 %",
      "less than 0.1 %",
      "0.1 %",
      "12.3 %",
      "99.9 %",
      "more than 99.9 %",
      "100 %",
    ]);
    expect([sharesWords(0.5, 0.25), sharesWords(0.5, 0.5001)]).toEqual(["50.0 % → 25.0 %", "50.0 %"]);
  });

  const habit = (over: Partial<Habit>): Habit => ({
    layer: 1,
    head: 0,
    kind: "induction",
    before: 0.8,
    now: 0.8,
    ...over,
  });

  test("a score, and what becomes of it", () => {
    expect(habitWords(habit({ before: 0.824, now: 0.824 }))).toBe("induction 0.82");
    expect(habitWords(habit({ before: 0.82, now: 0.05 }))).toBe("induction 0.82 → 0.05");
    expect(habitWords(habit({ kind: "positional", offset: -3 }))).toBe("offset −3 0.80");
  });

  test("the badge of a head is its strongest habit that is left", () => {
    const habits = [
      habit({ kind: "firstToken", now: 0.1 }),
      habit({ now: 0.6 }),
      habit({ kind: "selfToken", now: 0.7 }),
    ];
    expect(habitOf(habits, { layer: 1, head: 0 }, 0.5)!.kind).toBe("selfToken");
    expect(habitOf(habits, { layer: 1, head: 0 }, 0.9)).toBeUndefined();
    expect(habitOf(habits, { layer: 2, head: 0 }, 0.1)).toBeUndefined();
  });

  test("the changes, one after the other", () => {
    expect(changesWords(changesOf("1.0:off,2.1:mean,2.2:previous"))).toBe(
      "layer 1 head 1 is off, layer 2 head 2 gives its mean everywhere and layer 2 head 3 looks at the token before only",
    );
  });

  test("what to look for, where no head has a habit with a name", () => {
    const seen = { habits: [] } as unknown as Seen;
    expect(lookFor(FACTS, seen, [])).toMatch(/random tokens that are repeated/);
    expect(lookFor({ ...FACTS, isCausal: false }, seen, [])).toMatch(/Lower the threshold/);
  });
});
