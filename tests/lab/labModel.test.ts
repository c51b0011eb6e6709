// Whole models in the room Your model, without a browser: the address, what is computed, what is said.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { hub, inspectModel, loadModel } from "headwise/models";
import { random } from "headwise/train";

import { interventionsOf } from "../../web/demo/lab/engine/headChanges.js";
import { isModelName, namesIn } from "../../web/demo/lab/engine/hubModels.js";
import type {
  Habit,
  HeadChange,
  ModelFacts,
  ModelOrder,
  Seen,
  WordStudy,
} from "../../web/demo/lab/engine/modelProtocol.js";
import {
  largestOf,
  logOdds,
  movedShare,
  probabilitiesOf,
  probabilityOf,
  rowCosines,
} from "../../web/demo/lab/engine/predictions.js";
import { MOST_TOKENS, ReadModel, repeatedTokens } from "../../web/demo/lab/engine/readModel.js";
import type { OwnModel, StudyEvents } from "../../web/demo/lab/engine/ownModel.js";
import { troubleWords } from "../../web/demo/lab/engine/trouble.js";
import {
  loadWords,
  notesOf,
  planFinding,
  precisionWords,
  refusalWords,
} from "../../web/demo/lab/rooms/tensors/model/planWords.js";
import { changed, changesOf, EXAMPLE_TEXT, modelFields, numbersOf, orderOf, textOf } from "../../web/demo/lab/rooms/tensors/model/settings.js"; // oxfmt-ignore
import { share } from "../../web/demo/lab/rooms/tensors/model/share.js";
import { changesWords, finding, habitOf, habitWords, leftWords, lookFor, sharesWords } from "../../web/demo/lab/rooms/tensors/model/words.js"; // oxfmt-ignore
import { effectsOf, effectNumber, isDone, studyFinding, triedWords } from "../../web/demo/lab/rooms/tensors/model/studyWords.js"; // oxfmt-ignore
import { WordQuestion } from "../../web/demo/lab/rooms/tensors/model/wordQuestion.js";
import { placeName } from "../../web/demo/lab/shell/headPlace.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { gpt2Files } from "../../web/demo/train/gpt2Files.js";
import { initialParameters, Model } from "../../web/demo/train/model.js";
import { REPEAT_CHARACTERS } from "../../web/demo/train/repeat.js";
import { FAMILY_MODELS } from "../web/familyModels.js";
import { exampleFiles } from "./exampleModel.js";
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
    expect(changesOf("1.1:off, 2.12:mean,0.2:off,3.2:loud,x,1.1:mean")).toEqual([
      { layer: 1, head: 0, kind: "off" },
      { layer: 2, head: 11, kind: "mean" },
    ]);
  });

  test("gets a change, another one of the same head, and none", () => {
    const place = { layer: 1, head: 3 };
    const one = changed("2.1:off", place, "mean");
    expect(one).toBe("1.4:mean,2.1:off");
    expect(changed(one, place, "previous")).toBe("1.4:previous,2.1:off");
    expect(changed(one, place, undefined)).toBe("2.1:off");
  });

  test("holds numbers of tokens; another word is an error that shows it", () => {
    expect(numbersOf(" 5 7, 5;7 ")).toEqual([5, 7, 5, 7]);
    expect(() => numbersOf("5 cat 7")).toThrow("“cat” is no number of a token");
  });

  test("gives an order; changes of heads that the model does not have are left out", () => {
    const order = orderOf(settings("text=Hi&at=4&changes=2.4:off,2.5:off,3.1:off&threshold=0.4"), FACTS, false);
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

  test("log-odds are those of the probability, and stay exact where it is almost 1 or 0", () => {
    const scores = Float32Array.of(1, -2, 0.5);
    const [p] = probabilitiesOf(scores);
    expect(logOdds(scores, 0)).toBeCloseTo(Math.log(p! / (1 - p!)), 12);
    expect(probabilityOf(logOdds(scores, 0))).toBeCloseTo(p!, 12);
    expect([logOdds(Float32Array.of(100, 0), 0), logOdds(Float32Array.of(100, 0), 1)]).toEqual([100, -100]);
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
    const { effect } = await read.see({
      input: { numbers: tokens },
      at: undefined,
      changes: [],
      word: undefined,
      threshold: 0.5,
    });
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
const example = () => ReadModel.open(hw, exampleFiles());

/** The likeliest next token. */
async function nextWord(model: ReadModel, text: string): Promise<number> {
  const { effect } = await model.see(reading(text));
  if (effect.kind !== "prediction") throw new Error("a GPT-2 predicts tokens");
  return effect.candidates[0]!.token;
}

/** What a study knows at its end. */
async function studied(model: ReadModel, order: ModelOrder): Promise<WordStudy> {
  let latest: WordStudy | undefined;
  for await (const study of model.study(order)) latest = study;
  return latest!;
}

/** The log-odds of a token by its definition: from a run of the package with all heads, and one without each head. */
async function oddsWithout(
  files: Parameters<typeof loadModel>[1],
  tokens: readonly number[],
  at: number,
  word: number,
) {
  const model = await loadModel(hw, files);
  const { numHeads, vocabSize } = model.config;
  const odds = async (headGain?: Record<string, number[]>) => {
    const { logits } = await model.run([...tokens], { logits: true, ...(headGain && { headGain }) });
    const scores = logits!.data.slice(at * vocabSize, (at + 1) * vocabSize);
    const powers = Array.from(scores, (score) => Math.exp(score));
    return Math.log(powers[word]! / powers.reduce((sum, power, token) => (token === word ? sum : sum + power), 0));
  };
  const all = await odds();
  const without: number[] = [];
  for (const name of model.names)
    for (let head = 0; head < numHeads; head++)
      without.push(await odds({ [name]: Array.from({ length: numHeads }, (_, other) => Number(other !== head)) }));
  model.dispose();
  return { all, without };
}

function expectStudy(found: WordStudy, { all, without }: { all: number; without: readonly number[] }): void {
  expect(isDone(found)).toBe(true);
  expect(found.without).toHaveLength(without.length);
  // The scores of the last token alone are summed in another order than those of all tokens: float32 of size 10.
  [all, ...without].forEach((odds, n) => expect(Math.abs([found.all, ...found.without][n]! - odds)).toBeLessThan(1e-4));
}

const reading = (text: string, changes = ""): ModelOrder => ({
  input: { text },
  at: undefined,
  changes: changesOf(changes),
  word: undefined,
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
    const off = having(habits, "previousToken").map((place) => `${placeName(place)}:off`);
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
    const place = having(habits, "previousToken")[0]!;
    const { layer, head } = place;
    const moved = async (kind: string) => {
      const seen = await model.see(reading(EXAMPLE_TEXT, `${placeName(place)}:${kind}`));
      const own = seen.probs[layer - 1]!.subarray(head * seen.tokens.length ** 2);
      expect(own[2 * seen.tokens.length + (kind === "first" ? 0 : 1)]).toBe(1);
      return seen.effect.kind === "prediction" ? seen.effect.moved : NaN;
    };
    expect(await moved("previous")).toBeLessThan(await moved("first"));
  });

  test("a study has the log-odds of a word with each head off, as two runs of the package have them", async () => {
    const word = await nextWord(model, EXAMPLE_TEXT);
    const order = { ...reading(EXAMPLE_TEXT, "1.1:off"), word };
    const found = await studied(model, order);
    const { tokens } = await model.see(order);
    const wanted = await oddsWithout(exampleFiles(), tokens, tokens.length - 1, word);
    expectStudy(found, wanted);
    expect(studyFinding(found, "L")).toMatch(
      /^Layer 1 head 2 brings “L”: .* falls from more than 99\.9\u00a0% to 9\d\.\d\u00a0%\./,
    );
  });

  test("a study tells after each head what is known", async () => {
    const tried = [];
    for await (const study of model.study({ ...reading("abcab"), word: 3 })) tried.push(triedWords(study));
    expect(tried).toHaveLength(8);
    expect([tried[0], tried[7]]).toEqual(["1 of 8 heads have been tried.", "8 of 8 heads have been tried."]);
  });

  test("a word that is asked about is shown, also where it is unlikely", async () => {
    const shown = async (word: number | undefined) => {
      const { effect } = await model.see({ ...reading(EXAMPLE_TEXT), word });
      return effect.kind === "prediction" ? effect.candidates.map(({ token }) => token) : [];
    };
    const likely = await shown(undefined);
    const unlikely = [...Array(64).keys()].find((token) => !likely.includes(token))!;
    expect(await shown(unlikely)).toEqual([...likely, unlikely]);
    expect(await shown(likely[3])).toEqual(likely);
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
    const { tokens, labels, probs, effect } = await model.see(numbers([], "1.1:off,2.2:mean,2.3:first,2.4:previous"));
    expect(tokens).toEqual(repeatedTokens(29, 32));
    expect(tokens.slice(0, 12)).toEqual(tokens.slice(12));
    expect(labels).toEqual(tokens.map(String));
    expect(probs.map(({ length }) => length)).toEqual([4 * 24 * 24, 4 * 24 * 24]);
    expect(effect.kind === "prediction" && effect.moved).toBeGreaterThan(0);
    const differences = await model.check(numbers([]), { layer: 2, head: 3 });
    expect(differences[0]!.largest).toBeLessThan(1e-5);
    model.dispose();
  });

  test.each([
    ["qwen2", 1],
    ["bert", undefined],
  ] as const)("%s: a study asks at the token that is shown", async (kind, at) => {
    const model = await open(kind);
    const tokens = [3, 4, 5, 6, 7];
    const found = await studied(model, { ...numbers(tokens), at, word: 9 });
    const files = filesOf(CONFIGS[kind], randomWeights(shapesOf(kind)));
    expectStudy(found, await oddsWithout(files, tokens, at ?? 2, 9));
    model.dispose();
  });

  test("BERT: the token in the middle is predicted, since none is hidden", async () => {
    const model = await open("bert");
    expect(model.facts).toMatchObject({ isCausal: false, hasTokenizer: false });
    const seen = await model.see(numbers([3, 4, 5, 6, 7], "1.2:off"));
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
    const changes = changesOf("2.1:off");
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

describe("A question about a word", () => {
  const seenOf = (label: string, ...tokens: number[]) => {
    const effect = { kind: "prediction", candidates: [{ token: 7, label, before: 0.5, now: 0.5 }], moved: 0 };
    return { tokens, at: tokens.length - 1, effect } as unknown as Seen;
  };
  const asking = (word: number | undefined): ModelOrder => ({ ...reading(""), word });
  /** A model that notes what it is told to study. */
  const noting = () => {
    const told: string[] = [];
    let events: StudyEvents | undefined;
    const model = {
      study: ({ word }: ModelOrder, heard: StudyEvents) => {
        told.push(`study ${word}`);
        events = heard;
      },
      endStudy: () => told.push("end"),
    } as unknown as OwnModel;
    return { model, told, fail: () => events!.failed(new Error("lost")) };
  };

  test("is studied once, and anew for other tokens; without a word nothing is studied", () => {
    const { model, told } = noting();
    const question = new WordQuestion({ found: () => {}, failed: () => {} });
    question.ask(model, asking(7), FACTS, seenOf("L", 1, 2));
    question.ask(model, asking(7), FACTS, seenOf("L", 1, 2));
    expect(told).toEqual(["study 7"]);
    expect([question.label, question.study!.without]).toEqual(["L", []]);
    question.ask(model, asking(7), FACTS, seenOf("L", 1, 3));
    question.ask(model, asking(undefined), FACTS, seenOf("L", 1, 3));
    question.ask(model, asking(undefined), FACTS, seenOf("L", 1, 3));
    expect(told).toEqual(["study 7", "study 7", "end"]);
    expect(question.study).toBeUndefined();
  });

  test("whose study fails is told, and can be asked again", () => {
    const { model, told, fail } = noting();
    const failures: string[] = [];
    const question = new WordQuestion({ found: () => {}, failed: ({ message }) => failures.push(message) });
    question.ask(model, asking(7), FACTS, seenOf("L", 1, 2));
    fail();
    expect([failures, question.study]).toEqual([["lost"], undefined]);
    question.ask(model, asking(7), FACTS, seenOf("L", 1, 2));
    expect(told).toEqual(["study 7", "study 7"]);
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
      "Load the model: fetches about 500\u00a0MB from a.example, and keeps them in this browser",
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
      /^A model of the type GPT-2 with 2 layers of 4 heads, 16 wide: [\d,.]+ (thousand )?weights, \d+\u00a0KB in the files\. No weight has been read yet\.$/,
    );
    expect(precisionWords(plan, "int8")).toMatch(/^int8: [\d.]+\u00a0KB$/);
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
      /^This model does not fit: it needs at least .*, and the engine can have 1\.0\u00a0MB\.$/,
    );
    expect(precisionWords(small, "float32")).toMatch(
      /^float32: [\d.]+\u00a0KB; it does not fit, because loading needs /,
    );
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
      "0\u00a0%",
      "less than 0.1\u00a0%",
      "0.1\u00a0%",
      "12.3\u00a0%",
      "99.9\u00a0%",
      "more than 99.9\u00a0%",
      "100\u00a0%",
    ]);
    expect([sharesWords(0.5, 0.25), sharesWords(0.5, 0.5001)]).toEqual(["50.0\u00a0% → 25.0\u00a0%", "50.0\u00a0%"]);
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
    expect(changesWords(changesOf("1.1:off,2.2:mean,2.3:previous"))).toBe(
      "layer 1 head 1 is off, layer 2 head 2 gives its mean everywhere and layer 2 head 3 looks at the token before only",
    );
  });

  describe("of a study:", () => {
    /** Four heads of two layers, without which a word has these probabilities. */
    const study = (all: number, ...without: number[]): WordStudy => {
      const odds = (p: number) => Math.log(p / (1 - p));
      return { word: 1, layers: 2, heads: 2, all: odds(all), without: without.map(odds) };
    };

    test("the head that brings the word, the next ones, and the one that hinders it", () => {
      expect(studyFinding(study(0.41, 0.3, 0.09, 0.5, 0.35), "Paris")).toBe(
        "Layer 1 head 2 brings “Paris”: without this head its probability falls from 41.0\u00a0% to 9.0\u00a0%. Next come layer 1 head 1 (30.0\u00a0% without it) and layer 2 head 2 (35.0\u00a0% without it). Layer 2 head 1 hinders “Paris”: without this head its probability rises from 41.0\u00a0% to 50.0\u00a0%.",
      );
    });

    test("that no head matters by itself", () => {
      expect(studyFinding(study(0.41, 0.41, 0.42, 0.4, 0.41), "Paris")).toBe(
        "No head matters here by itself: without any one of them “Paris” stays at about 41.0\u00a0%.",
      );
    });

    test("numbers with their signs, and how many heads have been tried", () => {
      expect([0.04, 2.34, -0.42].map(effectNumber)).toEqual(["0.0", "+2.3", "−0.4"]);
      const half = study(0.5, 0.25, 0.75);
      expect(triedWords(half)).toBe("2 of 4 heads have been tried.");
      expect(effectsOf(half).map(({ layer, head, effect }) => [layer, head, effect.toFixed(3)])).toEqual([
        [1, 0, "1.099"],
        [1, 1, "-1.099"],
      ]);
    });
  });

  test("what to look for, where no head has a habit with a name", () => {
    const seen = { habits: [] } as unknown as Seen;
    expect(lookFor(FACTS, seen, [])).toMatch(/random tokens that are repeated/);
    expect(lookFor({ ...FACTS, isCausal: false }, seen, [])).toMatch(/Lower the threshold/);
  });
});
