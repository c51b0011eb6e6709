import type { HeadShare, Look, OwnPronoun, PronounFinding } from "../../engine/pronounProtocol.js";
import { percent } from "../../shell/amounts.js";
import { headWords } from "../../shell/headWords.js";
import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";

/** A head finds a word if half of its weight is there. */
const FINDS = 0.5;

export function pronounTitle({ kind }: Pick<PronounFinding, "kind">): string {
  return kind === "person" ? t`He or she` : t`It or them`;
}

/** What was asked, which head finds it, and the controls; sentence by sentence. */
export function pronounWords(finding: PronounFinding): readonly string[] {
  return [findWords(finding), exchangeWords(finding), articleWords(finding), offWords(finding), limitWords(finding)].filter(Boolean); // oxfmt-ignore
}

function findWords(finding: PronounFinding): string {
  const { kind, stories, asked, most } = finding;
  const where = kind === "person" ? personPlaces(stories, asked) : thingPlaces(stories, asked);
  const mostWords =
    asked === 1
      ? t`No other word has more of its weight in ${most} of 1 place.`
      : t`No other word has more of its weight in ${most} of ${grouped(asked)} places.`;
  return `${where} ${headsWords(finding)} ${mostWords}`;
}

function personPlaces(stories: number, asked: number): string {
  const times = timesWords(asked);
  return stories === 1
    ? t`In 1 story that the model has not seen, “he” or “she” comes ${times}.`
    : t`In ${grouped(stories)} stories that the model has not seen, “he” or “she” comes ${times}.`;
}

function thingPlaces(stories: number, asked: number): string {
  const times = timesWords(asked);
  return stories === 1
    ? t`In 1 story that the model has not seen, “it” or “them” comes ${times}.`
    : t`In ${grouped(stories)} stories that the model has not seen, “it” or “them” comes ${times}.`;
}

function timesWords(count: number): string {
  return count === 1 ? t`1 time` : t`${grouped(count)} times`;
}

function headsWords(finding: PronounFinding): string {
  const itself = closestWords(finding);
  return finding.isBefore ? `${itself} ${beforeWords(finding)}` : itself;
}

function closestWords({ kind, closest }: PronounFinding): string {
  const [head, weight] = [headWords(closest), part(closest)];
  if (closest.share >= FINDS)
    return kind === "person"
      ? t`${capital(head)} finds the name that is meant: ${weight} of its weight is there, on average.`
      : t`${capital(head)} finds the noun that is meant: ${weight} of its weight is there, on average.`;
  return kind === "person"
    ? t`No head finds the name that is meant: the closest is ${head}, with ${weight} of its weight there, on average.`
    : t`No head finds the noun that is meant: the closest is ${head}, with ${weight} of its weight there, on average.`;
}

/** The head that looks at the word before the one that is meant. */
function beforeWords({ kind, closest, finder }: PronounFinding): string {
  const [head, weight] = [headWords(finder), part(finder)];
  const isOther = closest.share < FINDS && finder.share >= FINDS;
  if (kind === "person")
    return isOther
      ? t`But ${head} has ${weight} on the word before the name.`
      : t`${capital(head)} has ${weight} on the word before the name.`;
  return isOther
    ? t`But ${head} has ${weight} on the word before the noun, which is most often its colour.`
    : t`${capital(head)} has ${weight} on the word before the noun, which is most often its colour.`;
}

function exchangeWords({ kind, finder, exchange }: PronounFinding): string {
  const { asked, followed, before, after } = exchange;
  if (asked === 0) return "";
  const places = placesWords(asked);
  const control =
    kind === "person"
      ? t`The control: in ${places} a person of the other sex, from the same story, trades places with the one who is meant.`
      : t`The control: in ${places} a thing of the other number, with its colour, from the same story, stands for the one that is meant.`;
  const head = headWords(finder);
  const shares = t`${share(before.own)} on the first and ${share(before.other)} on the second become ${share(after.own)} and ${share(after.other)}`;
  const moves =
    after.other > after.own && before.own > before.other
      ? t`The weight of ${head} moves with it: ${shares}.`
      : t`The weight of ${head} does not move with it: ${shares}.`;
  return `${control} ${moves} ${t`The model then says the other word in ${followed} of ${places}.`}`;
}

/** "12 places", after "in" or "of". */
function placesWords(count: number): string {
  return count === 1 ? t`1 place` : t`${grouped(count)} places`;
}

/** Whether the article or the noun says that it is one thing. */
function articleWords({ kind, isBefore, article, noun }: PronounFinding): string {
  if (kind !== "thing" || article.asked === 0) return "";
  const question = isBefore ? t`Why not the noun? “A red ball” says before its noun that it is one thing.` : t`What says that it is one thing?`; // oxfmt-ignore
  const took = t`In ${placesWords(article.asked)} only “a” is taken away, or put before the colour: the model says the other word in ${article.followed} of them.`;
  const gave = t`If “a” stays as it was and only the noun is of the other number, it says the other word in ${noun.followed} of ${noun.asked}.`;
  const [by, than] = [article.followed / article.asked, noun.followed / noun.asked];
  const so = by === than ? t`Both count alike.` : by > than ? t`So the model goes by “a” more than by the noun.` : t`So the model goes by the noun more than by “a”.`; // oxfmt-ignore
  return `${question} ${took} ${gave} ${so}`;
}

function offWords({ finder, asked, right, without, control }: PronounFinding): string {
  return t`With all heads ${right} of ${asked} are right. Without ${headWords(finder)} it is ${without}; guessing would get about half. Without ${headWords(control)}, which looks there least in its layer, it is ${control.right}.`;
}

function limitWords({ kind }: PronounFinding): string {
  return kind === "person"
    ? t`The grammar is simple: “he” and “she” mean the one whom the latest sentence is about. A head need not know more.`
    : t`The grammar is simple: “it” and “them” mean the thing that was named last. A head need not know more.`;
}

/** What the model says next after a story, under it: "As it is told: the next word is “she” with 85 % …" */
export function lookWords(told: string, { right, wrong, chance, otherChance }: Look): string {
  return t`${told}: the next word is “${right}” with ${share(chance)}, and “${wrong}” with ${share(otherChance)}.`;
}

/** A pronoun of the visitor's text. */
export function ownWords({ kind, word, meant, clue, share: own }: OwnPronoun, { finder }: PronounFinding): string {
  const head = headWords(finder);
  return kind === "person"
    ? t`“${word}” means ${meant}: ${head} has ${share(own)} of its weight on “${clue}”.`
    : t`“${word}” means the ${meant}: ${head} has ${share(own)} of its weight on “${clue}”.`;
}

const part = (head: HeadShare) => share(head.share);

function share(value: number): string {
  return percent(value, 1);
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
