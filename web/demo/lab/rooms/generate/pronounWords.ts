import type { HeadShare, Look, OwnPronoun, PronounFinding } from "../../engine/pronounProtocol.js";
import { percent } from "../../shell/amounts.js";
import { headWords } from "../../shell/headWords.js";
import { counted } from "../../shell/numbers.js";

/** A head finds a word if half of its weight is there. */
const FINDS = 0.5;

const NAMES = {
  person: { pronouns: "“he” or “she”", meant: "name", title: "He or she" },
  thing: { pronouns: "“it” or “them”", meant: "noun", title: "It or them" },
} as const;

export function pronounTitle({ kind }: Pick<PronounFinding, "kind">): string {
  return NAMES[kind].title;
}

/** What was asked, which head finds it, and the controls; sentence by sentence. */
export function pronounWords(finding: PronounFinding): readonly string[] {
  return [findWords(finding), exchangeWords(finding), articleWords(finding), offWords(finding), limitWords(finding)].filter(Boolean); // prettier-ignore
}

function findWords(finding: PronounFinding): string {
  const { kind, stories, asked, most } = finding;
  const where = `In ${counted(stories, "story", "stories")} that the model has not seen, ${NAMES[kind].pronouns} comes ${counted(asked, "time")}.`;
  return `${where} ${headsWords(finding)} No other word has more of its weight in ${most} of ${counted(asked, "place")}.`;
}

function headsWords({ kind, closest, finder, isBefore }: PronounFinding): string {
  const { meant } = NAMES[kind];
  const itself =
    closest.share >= FINDS
      ? `${capital(headWords(closest))} finds the ${meant} that is meant: ${part(closest)} of its weight is there, on average.`
      : `No head finds the ${meant} that is meant: the closest is ${headWords(closest)}, with ${part(closest)} of its weight there, on average.`;
  if (!isBefore) return itself;
  const colour = kind === "thing" ? ", which is most often its colour" : "";
  return `${itself} ${closest.share < FINDS && finder.share >= FINDS ? "But " : ""}${first(finder, closest)} has ${part(finder)} on the word before the ${meant}${colour}.`;
}

/** A head in the middle of a sentence, or at its start. */
function first(finder: HeadShare, closest: HeadShare): string {
  return closest.share < FINDS && finder.share >= FINDS ? headWords(finder) : capital(headWords(finder));
}

function exchangeWords({ kind, finder, exchange: { asked, followed, before, after } }: PronounFinding): string {
  if (asked === 0) return "";
  const other = kind === "person" ? "a person of the other sex" : "a thing of the other number, with its colour";
  const stands = kind === "person" ? "trades places with the one who is meant" : "stands for the one that is meant";
  const does = after.other > after.own && before.own > before.other ? "moves with it" : "does not move with it";
  const shares = `${share(before.own)} on the first and ${share(before.other)} on the second become ${share(after.own)} and ${share(after.other)}`;
  return `The control: in ${counted(asked, "place")} ${other}, from the same story, ${stands}. The weight of ${headWords(finder)} ${does}: ${shares}. The model then says the other word in ${followed} of ${counted(asked, "place")}.`;
}

/** Whether the article or the noun says that it is one thing. */
function articleWords({ kind, isBefore, article, noun }: PronounFinding): string {
  if (kind !== "thing" || article.asked === 0) return "";
  const question = isBefore ? "Why not the noun? “A red ball” says before its noun that it is one thing." : "What says that it is one thing?"; // prettier-ignore
  const took = `In ${counted(article.asked, "place")} only “a” is taken away, or put before the colour: the model says the other word in ${article.followed} of them.`;
  const gave = `If “a” stays as it was and only the noun is of the other number, it says the other word in ${noun.followed} of ${noun.asked}.`;
  const [by, than] = [article.followed / article.asked, noun.followed / noun.asked];
  const so = by === than ? "Both count alike." : by > than ? "So the model goes by “a” more than by the noun." : "So the model goes by the noun more than by “a”."; // prettier-ignore
  return `${question} ${took} ${gave} ${so}`;
}

function offWords({ finder, asked, right, without, control }: PronounFinding): string {
  return `With all heads ${right} of ${asked} are right. Without ${headWords(finder)} it is ${without}; guessing would get about half. Without ${headWords(control)}, which looks there least in its layer, it is ${control.right}.`;
}

function limitWords({ kind }: PronounFinding): string {
  return kind === "person"
    ? "The grammar is simple: “he” and “she” mean the one whom the latest sentence is about. A head need not know more."
    : "The grammar is simple: “it” and “them” mean the thing that was named last. A head need not know more.";
}

/** What the model says next after a story, under it: "As it is told: “she” 85 %, “he” less than 1 %." */
export function lookWords(told: string, { right, wrong, chance, otherChance }: Look): string {
  return `${told}: the next word is “${right}” with ${share(chance)}, and “${wrong}” with ${share(otherChance)}.`;
}

/** A pronoun of the visitor's text. */
export function ownWords({ kind, word, meant, clue, share: own }: OwnPronoun, { finder }: PronounFinding): string {
  const means = kind === "person" ? meant : `the ${meant}`;
  return `“${word}” means ${means}: ${headWords(finder)} has ${share(own)} of its weight on “${clue}”.`;
}

const part = (head: HeadShare) => share(head.share);

function share(value: number): string {
  return percent(value, 1);
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
