// The stories of the Generate room's decoder: the same seed tells the same story, and the judge finds every damage.

import { describe, expect, test } from "@jest/globals";
import { random } from "headwise/train";

import { judged, sentencesOf } from "../../web/demo/stories/judge.js";
import { KINDS } from "../../web/demo/stories/kinds.js";
import { drawStory, isHeldOut, storyOf } from "../../web/demo/stories/story.js";
import type { Features } from "../../web/demo/stories/shapes.js";
import { Teller } from "../../web/demo/stories/teller.js";
import { storyWords } from "../../web/demo/stories/words.js";

const STORIES = Array.from({ length: 300 }, (_, seed) => storyOf(seed));

const words = (text: string) => text.split(" ");
const verdicts = (text: string) => judged(words(text)).map(({ isSentence, isTrue }) => [isSentence, isTrue]);

describe("Stories", () => {
  test("are the same for the same seed, and others for other seeds", () => {
    expect(storyOf(7)).toEqual(storyOf(7));
    expect(new Set(STORIES.map((story) => story.words.join(" "))).size).toBe(STORIES.length);
  });

  test("parse and are true, sentence by sentence", () => {
    for (const story of STORIES)
      for (const verdict of judged(story.words)) expect(verdict).toMatchObject({ isSentence: true, isTrue: true });
  });

  test("have 60 to 160 words of 200 to 300 different ones, and all kinds occur", () => {
    for (const story of STORIES) {
      expect(story.words.length).toBeGreaterThanOrEqual(55);
      expect(story.words.length).toBeLessThanOrEqual(165);
    }
    const all = storyWords();
    expect(all.length).toBeGreaterThanOrEqual(200);
    expect(all.length).toBeLessThanOrEqual(300);
    const told = new Set(STORIES.flatMap((story) => story.words));
    expect([...told].filter((word) => !all.includes(word))).toEqual([]);
    expect(all.filter((word) => word !== "\n" && !told.has(word))).toEqual([]);
    expect(KINDS.length).toBeGreaterThanOrEqual(8);
  });

  test("have facts whose right word stands at its place, with other words that could stand there", () => {
    const kinds = new Set<string>();
    for (const story of STORIES)
      for (const { at, right, others, kind } of story.facts) {
        kinds.add(kind);
        expect(story.words[at]).toBe(right);
        expect(others.length).toBeGreaterThan(0);
        expect(others).not.toContain(right);
      }
    expect([...kinds].sort()).toEqual(["agreement", "colour", "count", "it/them", "list", "owner", "pet", "place", "possessive", "pronoun", "recipient", "thing"]); // oxfmt-ignore
  });

  test("say of each thing and animal that they name who has it then, before a sentence gives it away", () => {
    const teller = new Teller(random(1));
    const [A, B] = teller.people(2) as [Features, Features];
    const [X, Y] = teller.things(2) as [Features, Features];
    const [T, D, E] = [{ role: "teacher" }, { kind: "dog" }, { kind: "cat" }];
    teller.say("live", { A, B, P: { place: "park" } });
    teller.say("found", { A, X });
    teller.say("had", { A: B, X: Y });
    teller.say("swapped", { A, X, B, Y });
    teller.say("asksWho", { T, X });
    teller.say("asksWho", { T, X: Y });
    teller.say("keeps", { A, B, D, E });
    teller.say("ran", { D, P: { place: "river" } });
    const { words, named } = teller.story;
    const [a, b, x, y] = [A["name"], B["name"], X["noun"], Y["noun"]];
    expect(named.map(({ at, holder }) => [words[at], holder])).toEqual([
      ...[[x, a], [y, b]], // found and had
      ...[[x, a], [y, b]], // each gives its own
      ...[[x, b], [y, a]], // who has it?
      ...[["dog", a], ["cat", b], ["dog", a]],
    ]); // oxfmt-ignore
  });

  test("say no sentence that is not true", () => {
    const teller = new Teller(random(1));
    const [A, B] = teller.people(2);
    expect(() => teller.say("live", { A: A!, B: A!, P: { place: "park" } })).toThrow("is not true in this story");
    teller.say("live", { A: A!, B: B!, P: { place: "park" } });
    const [X] = teller.things(1);
    expect(() => teller.say("liked", { A: A!, X: X! })).toThrow("is not true");
  });

  test("that are held out are about one in twenty, and no training sees them", () => {
    const held = STORIES.filter(isHeldOut).length / STORIES.length;
    expect(Math.abs(held - 0.05)).toBeLessThan(0.04);
    const [learned, unseen] = [random(1), random(2)];
    const seen = new Set(Array.from({ length: 500 }, () => drawStory(learned, false).words.join(" ")));
    for (let n = 0; n < 20; n++) expect(seen).not.toContain(drawStory(unseen, true).words.join(" "));
  });
});

describe("The judge", () => {
  const BEGINNING = "Kate and Ben lived near the park . Kate had a red ball . Ben had blue gloves .";

  test("cuts texts into sentences; one that begins with a quote goes on after it", () => {
    const text = "Ben said : “ I have it . ” “ what colour is the ball ? ” asked the teacher . Kate";
    expect(sentencesOf(words(text)).map((sentence) => sentence.length)).toEqual([9, 12, 1]);
  });

  test.each([
    ["a pronoun of the wrong sex", "Kate wanted to give the red ball to Ben . so he gave it to Ben .", true],
    ["them for one thing", "Kate wanted to give the red ball to Ben . so she gave them to Ben .", true],
    ["another receiver than she wanted", "Kate wanted to give the red ball to Ben . so she gave it to Kate .", true],
    ["what somebody else has", "now Kate had the blue gloves .", true],
    ["another owner", "the red ball belongs to Ben .", true],
    ["a verb that does not agree", "the blue gloves of Ben was new .", false],
    ["a verb that does not agree", "the red ball belong to Kate .", false],
    ["one word more", "now Kate had the the red ball .", false],
    ["a sentence without an end", "now Kate had the", false],
  ])("refuses %s: %s", (_, text, isSentence) => {
    expect(verdicts(`${BEGINNING} ${text}`).at(-1)).toEqual([isSentence, false]);
    expect(verdicts(BEGINNING)).toEqual([true, true, true].map((each) => [each, each]));
  });

  test("refuses another place, item, number, name of a pet or pronoun, wherever a fact is damaged", () => {
    let found = 0;
    let damaged = 0;
    for (const story of STORIES.slice(0, 120))
      for (const { at, kind, others } of story.facts) {
        if (!["list", "place", "count", "pet", "it/them"].includes(kind)) continue;
        const text = story.words.map((word, n) => (n === at ? others[0]! : word));
        damaged++;
        found += Number(judged(text).some(({ isTrue }) => !isTrue));
      }
    expect(found).toBe(damaged);
  });
});
