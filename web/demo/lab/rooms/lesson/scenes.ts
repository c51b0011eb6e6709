// The seven scenes: what each says about the sentence, the room it opens, and its question.

import { percent } from "../../../model/links.js";
import { spoken } from "../../../model/names.js";
import { PARK } from "../../../model/story.js";
import { encoderHeadName } from "../../shell/encoderHead.js";
import { decimal, rounded } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import type { TITLES } from "../titles.js";
import * as lesson from "./lesson.js";
import type { Lesson } from "./lesson.js";
import { mixture } from "./mixture.js";
import { PERCENT } from "../../../texts/percent.js";

export interface Scene {
  readonly title: string;
  /** Paragraphs. */
  readonly words: readonly string[];
  readonly door: Door;
  readonly quiz?: Quiz;
}

/** A room at the state of the scene. */
export interface Door {
  readonly words: string;
  readonly room: keyof typeof TITLES;
  readonly settings: Readonly<Record<string, string>>;
}

/** A question about what was just shown. */
export interface Quiz {
  readonly question: string;
  readonly answers: readonly string[];
  readonly right: number;
  /** Why, with the numbers of the sentence. */
  readonly said: string;
}

export function scenesOf(seen: Lesson): Scene[] {
  return [vectors(seen), scores(seen), softmax(seen), mix(seen), move(seen), heads(seen), places(seen)];
}

/** Below this, float32 rounds. */
const ROUNDING = 1e-4;

const quoted = (seen: Lesson, token: number) => t`“${spoken(lesson.namesOf(seen)[token]!)}”`;
const asker = (seen: Lesson) => quoted(seen, seen.word);
const sentence = ({ placed, head }: Lesson) => ({ texts: placed.text, head: encoderHeadName(head) });

function vectors(seen: Lesson): Scene {
  const twins = lesson.twinsOf(seen.placed);
  const same = twins
    ? t` ${quoted(seen, twins[0])} and ${quoted(seen, twins[1])} are the same word: only their places differ.`
    : "";
  return {
    title: t`Words become vectors`,
    words: [
      t`The model cannot read. It looks each word up in a table and gets 256 numbers: a vector. It adds a second vector that says where the word stands.${same}`,
      seen.placed.tokens.length > 1
        ? t`Follow one word: ${asker(seen)}. What will the other words do to it?`
        : t`Follow one word: ${asker(seen)}. It stands alone: with more words in your sentence, see what they do to it.`,
    ],
    door: { words: t`this sentence`, room: "sentence", settings: { texts: seen.placed.text } },
  };
}

function scores(seen: Lesson): Scene {
  const { scores: row } = lesson.asking(seen);
  const [best, least] = [lesson.largest(row), lesson.smallest(row)];
  const turned = lesson.angles(seen).map((angle) => Math.round((180 * angle) / Math.PI));
  const beyond = turned[least]! > 90 ? t`, more than a right angle` : "";
  return {
    title: t`A query meets keys`,
    words: [
      t`From its vector, ${asker(seen)} makes a query: what it looks for. Each word makes a key: what it offers. Their product is a score. It is high if both point the same way.`,
      t`The highest score is ${decimal(row[best]!, 1)}: the key of ${quoted(seen, best)}, at ${turned[best]!}° to the query. The lowest is ${decimal(row[least]!, 1)}: the key of ${quoted(seen, least)}, at ${turned[least]!}°${beyond}.`,
    ],
    door: {
      words: t`the scores of ${asker(seen)}`,
      room: "sentence",
      settings: { ...sentence(seen), show: "scores", from: String(seen.word + 1), to: String(best + 1) },
    },
    ...directions(seen, best === seen.word ? least : best),
  };
}

/** Whether a score is the same the other way round. No question, if there is no other word. */
function directions(seen: Lesson, other: number): Pick<Scene, "quiz"> {
  if (other === seen.word) return {};
  const there = lesson.asking(seen).scores[other]!;
  const back = lesson.asking({ ...seen, word: other }).scores[seen.word]!;
  const [a, b] = [asker(seen), quoted(seen, other)];
  const isSame = Math.abs(there - back) < ROUNDING;
  const quiz: Quiz = {
    question: t`${a} gives ${b} a score of ${decimal(there)}. Does ${b} give ${a} the same?`,
    answers: [t`Yes, the same`, t`No, another one`],
    right: isSame ? 0 : 1,
    said: t`${a} gives ${b} ${decimal(there)}, and ${b} gives ${a} ${decimal(back)}. ${isSame ? t`Here they are equal.` : t`Asking is not answering: queries and keys come from different matrices.`}`,
  };
  return { quiz };
}

function softmax(seen: Lesson): Scene {
  const { weights } = lesson.asking(seen);
  const best = lesson.largest(weights);
  return {
    title: t`Scores become weights`,
    words: [
      t`A word has 100 % of attention to spend. Softmax divides it: it raises e to the power of each score, and divides by the sum. No weight is negative, and together they are 1.`,
      t`${asker(seen)} gives the most to ${best === seen.word ? t`itself` : quoted(seen, best)}: ${percent(weights[best]!)}.`,
    ],
    door: { words: t`all weights of this head`, room: "sentence", settings: { ...sentence(seen), show: "weights" } },
    quiz: shifted(seen),
  };
}

/** What the weights do when every score becomes 1 higher. */
function shifted(seen: Lesson): Quiz {
  const { scores: row, weights } = lesson.asking(seen);
  const powers = Array.from(row, (score) => Math.exp(score + 1));
  const sum = powers.reduce((total, power) => total + power, 0);
  const change = Math.max(...powers.map((power, token) => Math.abs(power / sum - weights[token]!)));
  return {
    question: t`Add 1 to every score of this row. What do the weights do?`,
    answers: [t`All grow`, t`They stay as they are`, t`The largest one grows`],
    right: change < ROUNDING ? 1 : 0,
    said: t`Every bar becomes ${decimal(Math.E, 1)} times as high, and so does their sum. Only differences of scores count.`,
  };
}

function mix(seen: Lesson): Scene {
  const { weights } = lesson.asking(seen);
  const best = lesson.largest(weights);
  const quiz: Quiz = {
    question: t`If one weight were 100 %, say that of ${quoted(seen, best)}, what would the mix be?`,
    answers: [t`The key of ${quoted(seen, best)}`, t`The value of ${quoted(seen, best)}`, t`The mean of all values`],
    right: 1,
    said: t`1 × its value + 0 × all others: attention would copy that value. With equal weights it would be the mean.`,
  };
  return {
    title: t`Values mix`,
    words: [
      t`Each word also has a value: what it gives. Attention adds all values, each times its weight. The sum is the mix for ${asker(seen)}.`,
      t`${percent(weights[best]!)} of the mix comes from the value of ${quoted(seen, best)}. Words with small weights give little.`,
    ],
    door: { words: t`the product of weights and values`, room: "matrix", settings: mixture(seen) },
    // The mean of one value is that value.
    ...(weights.length > 1 && { quiz }),
  };
}

function move(seen: Lesson): Scene {
  const pair = lesson.pairOf(seen);
  return {
    title: t`The word’s vector moves`,
    words: [
      t`The mix goes through one more matrix, and is added to the word’s vector, with the mixes of the other heads. So the vector moves: it now holds the word and something of its sentence.`,
      moveWords(seen, pair),
    ],
    door: { words: t`how far each word’s information travels`, room: "sentence", settings: { ...sentence(seen), show: "rollout" } }, // oxfmt-ignore
    ...(pair[0] !== pair[1] && { quiz: furtherMoved(seen, pair) }),
  };
}

/** What attention does to the two words; or to the only one. */
function moveWords(seen: Lesson, pair: readonly [number, number]): string {
  const { before, after, moved } = lesson.movesOf(seen.placed, seen.head, pair);
  const [a, b] = pair.map((token) => quoted(seen, token)) as [string, string];
  const layer = Math.floor(seen.head / 4) + 1;
  if (pair[0] === pair[1]) return t`Layer ${layer} moves ${a} by ${decimal(moved[0], 1)}.`;
  const apart = rounded(after, 1) - rounded(before, 1);
  const change = apart > 0 ? t`further apart` : apart < 0 ? t`nearer to each other` : t`as far apart as before`;
  return `${twinWords(seen, a, b)}${t`Layer ${layer} moves ${a} and ${b} ${change}: from ${decimal(before, 1)} to ${decimal(after, 1)}.`}`;
}

/** Only of the page's own sentence is it known that the word has two meanings. */
function twinWords({ placed }: Lesson, a: string, b: string): string {
  if (placed.text === PARK) return t`${a} and ${b} are one word with two meanings. `;
  return lesson.twinsOf(placed) ? t`${a} and ${b} are the same word twice. ` : "";
}

function furtherMoved(seen: Lesson, pair: readonly [number, number]): Quiz {
  const moved = lesson.movesOf(seen.placed, seen.head, pair).moved.map((by) => rounded(by, 1)) as [number, number];
  const [a, b] = pair.map((token) => quoted(seen, token)) as [string, string];
  return {
    question: t`Which of the two moved further?`,
    answers: [a, b, t`Both as far`],
    right: moved[0] === moved[1] ? 2 : lesson.largest(moved),
    said: t`${a} moved ${decimal(moved[0], 1)}, ${b} ${decimal(moved[1], 1)}. Before attention the vector of ${a} was ${decimal(lengthOf(seen, pair[0]), 1)} long, that of ${b} ${decimal(lengthOf(seen, pair[1]), 1)}.`,
  };
}

function lengthOf({ placed, head }: Lesson, token: number): number {
  const vectors = new lesson.Vectors(placed, head);
  return Math.sqrt(vectors.product(token, token));
}

function heads(seen: Lesson): Scene {
  const shares = lesson.sharesOf(seen, seen.word);
  const most = lesson.largest(shares);
  const first = seen.head - (seen.head % shares.length);
  const gains = Array.from({ length: 8 }, (_, head) => Number(head !== first + most)).join(",");
  const row = lesson.rowsOfHeads(seen, seen.placed, seen.word)[most]!;
  const best = lesson.largest(row);
  const left = 1 - shares[most]!;
  const say = (share: number) => `${decimal(100 * share, 0)}${PERCENT}`;
  return {
    title: t`Heads look at different things`,
    words: [
      t`You have followed one head. A layer has ${shares.length}, each with its own queries, keys and values. Each may look elsewhere. Their mixes are joined, and one matrix makes the move of them.`,
      t`For ${asker(seen)}, head ${most + 1} makes the largest part of the move: ${say(shares[most]!)}. It looks at ${best === seen.word ? t`itself` : quoted(seen, best)} most (${percent(row[best]!)}).`,
    ],
    door: { words: t`the sentence without head ${most + 1}`, room: "sentence", settings: { ...sentence(seen), gains } },
    quiz: {
      question: t`Switch head ${most + 1} off. How much of the move is left, in its old direction?`,
      answers: [t`Nothing`, say(left), t`All of it: the others take over`],
      right: Math.abs(left) < ROUNDING ? 0 : Math.abs(left - 1) < ROUNDING ? 2 : 1,
      said: t`The parts of the heads are added, so ${say(left)} is left in this layer. No head here learns that another one is gone.`,
    },
  };
}

function places(seen: Lesson): Scene {
  const twins = lesson.twinsOf(seen.placed);
  const text = { words: seen.placed.text };
  const door: Door = { words: t`positions with this sentence`, room: "positions", settings: text };
  if (!twins)
    return {
      title: t`Positions tell words apart`,
      words: [
        t`Without positions, attention sees a bag of words: each word looks the same way wherever it stands.`,
        t`Write a sentence in which a word stands twice, and see what positions do to it.`,
      ],
      door,
    };
  const [a, b] = twins.map((token) => quoted(seen, token)) as [string, string];
  const apart = (anatomy: Lesson["placed"], head: number) => lesson.movesOf(anatomy, head, twins).after;
  const [on, off] = [apart(seen.placed, seen.head), apart(seen.unplaced, seen.head)];
  const [lastOn, lastOff] = [apart(seen.placed, 7), apart(seen.unplaced, 7)];
  return {
    title: t`Positions tell ${a} from ${b}`,
    words: [
      t`Leave the positions out, and ${a} and ${b} start as one vector. They ask the same, they get the same mix, they make the same move.`,
      t`After layer ${Math.floor(seen.head / 4) + 1} they are ${decimal(off, 1)} apart; with positions, ${decimal(on, 1)}. Attention does not see order: positions bring it.`,
    ],
    door,
    quiz: {
      question: t`There is a second layer. Without positions, how far apart are they after it?`,
      answers: [t`As far as with positions`, t`Half as far`, t`Not apart`],
      right: lastOff < ROUNDING * lastOn ? 2 : lastOff < 0.75 * lastOn ? 1 : 0,
      said: t`With positions ${decimal(lastOn, 1)}, without them ${decimal(lastOff, 1)}. What is equal stays equal, however many layers follow.`,
    },
  };
}
