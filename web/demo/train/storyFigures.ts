import { random } from "headwise/train";

import { candidates, taken } from "../generate/sampling.js";
import { judged } from "../stories/judge.js";
import type { FactKind } from "../stories/shapes.js";
import { drawStory } from "../stories/story.js";
import type { Story } from "../stories/teller.js";
import type { Model } from "./model.js";
import { STORY_WORDS, storyIds } from "./storyBatch.js";

/** Stories that are read at once. */
const ROWS = 16;
/** A story that is written has at most so many words. */
const MOST_WORDS = 220;

/** Shares by what a word is about. */
export type Shares = Partial<Record<FactKind, number>>;

/** What a decoder does with stories that it has not seen. */
export interface StoryFigures {
  /** How many unseen stories were read, and the seed that draws them. */
  readonly stories: number;
  readonly seed: number;
  readonly natsPerWord: number;
  /** How often the right word has a higher score than all others that could stand there. */
  readonly choices: Shares;
  /** How many words of each kind were asked. */
  readonly asked: Shares;
  /** At `temperature`: the share of the written sentences that are of the grammar, and of those that are true too. */
  readonly written: {
    readonly temperature: number;
    readonly stories: number;
    readonly sentences: number;
    readonly parse: number;
    readonly true: number;
  };
}

/** What is lost when one head is off. Layers and heads count from 0. */
export interface HeadLoss {
  readonly layer: number;
  readonly head: number;
  /** Shares of right choices without the head. */
  readonly choices: Shares;
  /** The mean part of its weight that is on the word before the newest one, over all words. */
  readonly before: number;
  /** The mean part that is on earlier places of the word that comes next, over items of lists that come back. */
  readonly earlier: number;
}

/** Stories that no training sees. */
export function unseenStories(count: number, seed: number): readonly Story[] {
  const source = random(seed);
  return Array.from({ length: count }, () => drawStory(source, true));
}

/** A story as people read it. */
export function storyText(story: Story): string {
  return STORY_WORDS.text(storyIds(story).slice(0, -1));
}

/** How often the right word wins, and how much all words surprise. */
export async function choicesOf(model: Model, stories: readonly Story[]) {
  const right = new Map<FactKind, number>();
  const asked = new Map<FactKind, number>();
  let [nats, words] = [0, 0];
  for (let from = 0; from < stories.length; from += ROWS) {
    const some = stories.slice(from, from + ROWS);
    const rows = some.map(storyIds);
    const scores = await scoresOf(model, rows);
    some.forEach(({ facts }, n) => {
      for (const { at, kind, right: word, others } of facts) {
        const given = scores(n, at); // after the break and the words before this one
        const best = Math.max(...others.map((other) => given[idOf(other)]!));
        asked.set(kind, (asked.get(kind) ?? 0) + 1);
        right.set(kind, (right.get(kind) ?? 0) + Number(given[idOf(word)]! > best));
      }
      const ids = rows[n]!;
      for (let at = 0; at + 1 < ids.length; at++) nats += surprise(scores(n, at), ids[at + 1]!);
      words += ids.length - 1;
    });
  }
  const kinds = [...asked.keys()].sort();
  return {
    natsPerWord: nats / words,
    choices: Object.fromEntries(kinds.map((kind) => [kind, (right.get(kind) ?? 0) / asked.get(kind)!])) as Shares,
    asked: Object.fromEntries(asked) as Shares,
  };
}

/** Stories that the model writes, each from nothing, at a temperature and without a top k. */
export async function writtenStories(model: Model, count: number, temperature: number, seed: number) {
  const source = random(seed);
  const [end] = storyIds({ words: [] }) as [number];
  const stories = Array.from({ length: count }, () => [end]);
  for (let from = 0; from < count; from += ROWS) {
    let open = stories.slice(from, from + ROWS);
    while (open.length > 0) {
      const scores = await scoresOf(model, open);
      open.forEach((ids, n) => {
        const next = candidates(scores(n, ids.length - 1), { temperature, topK: STORY_WORDS.count });
        ids.push(taken(next, source.next()));
      });
      open = open.filter((ids) => ids.at(-1) !== end && ids.length <= MOST_WORDS);
    }
  }
  return stories.map((ids) => ({
    words: ids.filter((id) => id !== end).map((id) => STORY_WORDS.tokens[id]!),
    isEnded: ids.at(-1) === end,
  }));
}

/** The judge's shares over written stories. A sentence that the limit has cut does not count. */
export async function judgedShares(model: Model, count: number, temperature: number, seed: number) {
  const stories = await writtenStories(model, count, temperature, seed);
  const verdicts = stories.flatMap(({ words, isEnded }) => {
    const all = judged(words);
    return isEnded || /^[.?!”]$/.test(words.at(-1)!) ? all : all.slice(0, -1);
  });
  const share = (is: (verdict: (typeof verdicts)[number]) => boolean) => verdicts.filter(is).length / verdicts.length;
  return {
    ...{ temperature, stories: count, sentences: verdicts.length },
    parse: share(({ isSentence }) => isSentence),
    true: share(({ isTrue }) => isTrue),
  };
}

/** Choices without each head in turn, and where each head looks. */
export async function headLosses(model: Model, stories: readonly Story[]): Promise<readonly HeadLoss[]> {
  const looks = await headLooks(model, stories);
  const losses: HeadLoss[] = [];
  for (const [layer, gains] of model.headGains.entries())
    for (const head of gains.keys()) {
      gains[head] = 0;
      const { choices } = await choicesOf(model, stories);
      gains[head] = 1;
      losses.push({ layer, head, choices, ...looks(layer, head) });
    }
  return losses;
}

/** Where the heads look, over some stories. */
async function headLooks(model: Model, stories: readonly Story[]) {
  const { layers, heads } = model.architecture;
  const table = () => Array.from({ length: layers }, () => new Float64Array(heads));
  const [before, earlier] = [table(), table()];
  let [words, items] = [0, 0];
  for (const story of stories) {
    const ids = storyIds(story);
    const { probs } = await model.look({ data: Int32Array.from(ids), shape: [1, ids.length] });
    const add = (sums: readonly Float64Array[], from: number, to: number) =>
      probs.forEach(({ data }, layer) => {
        for (let head = 0; head < heads; head++)
          sums[layer]![head]! += data[(head * ids.length + from) * ids.length + to]!;
      });
    for (let at = 1; at < ids.length; at++) add(before, at, at - 1);
    words += ids.length - 1;
    for (const { at, kind } of story.facts) {
      if (kind !== "list") continue;
      items++;
      for (let place = 0; place <= at; place++) if (ids[place] === ids[at + 1]) add(earlier, at, place);
    }
  }
  return (layer: number, head: number) => ({
    before: before[layer]![head]! / words,
    earlier: items === 0 ? 0 : earlier[layer]![head]! / items,
  });
}

/** The scores after each word of rows, which are padded at the end. */
async function scoresOf(model: Model, rows: readonly (readonly number[])[]) {
  const length = Math.max(...rows.map((row) => row.length));
  const data = new Int32Array(rows.length * length);
  rows.forEach((row, n) => data.set(row, n * length));
  const logits = (await model.logits({ data, shape: [rows.length, length] })).data;
  const { count } = STORY_WORDS;
  return (row: number, at: number) => logits.subarray((row * length + at) * count, (row * length + at + 1) * count);
}

function surprise(scores: Float32Array, id: number): number {
  const highest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  const sum = scores.reduce((total, score) => total + Math.exp(score - highest), 0);
  return Math.log(sum) + highest - scores[id]!;
}

function idOf(word: string): number {
  return STORY_WORDS.ids(word)[0]!;
}
