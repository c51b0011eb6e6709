import { REPEAT_CHARACTERS } from "../../../train/repeat.js";
import { listed, percent } from "../../shell/amounts.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { headLabel, headWords as placeWords } from "../../shell/headWords.js";
import { counted, decimal, grouped } from "../../shell/numbers.js";
import type { Moment, Moments } from "./moments.js";
import type { Habit, HeadScores } from "./scores.js";
import { t } from "../../../texts/t.js";

/** What is told when a head takes up a habit. */
const BEGINS: Readonly<Record<Habit, (step: string, head: string) => string>> = {
  previous: (step, head) => t`Step ${step}: ${head} now looks at the token before.`,
  induction: (step, head) => t`Step ${step}: ${head} now looks at what followed this token last time.`,
  same: (step, head) => t`Step ${step}: ${head} now looks at the same token, where it stood last time.`,
};

/** What is told when a head loses a habit. */
const ENDS: typeof BEGINS = {
  previous: (step, head) => t`Step ${step}: ${head} does not look any more at the token before.`,
  induction: (step, head) => t`Step ${step}: ${head} does not look any more at what followed this token last time.`,
  same: (step, head) => t`Step ${step}: ${head} does not look any more at the same token, where it stood last time.`,
};

/** "layer 2 head 1", "the control’s head 3" */
export function headWords(place: HeadPlace): string {
  return place.layer === 0 ? t`the control’s ${headLabel(place.head)}` : placeWords(place);
}

/** "Step 740: layer 2 head 1 now looks at what followed this token last time." */
export function momentWords(moment: Moment): string {
  const step = grouped(moment.step);
  if (moment.kind === "copies")
    return t`Step ${step}: the two layers copy ${percent(moment.share, 1)} of the repeated tokens.`;
  const head = headWords(moment.place);
  if (moment.kind === "switched")
    return moment.isOn ? t`Step ${step}: you switched ${head} on.` : t`Step ${step}: you switched ${head} off.`;
  return (moment.kind === "begins" ? BEGINS : ENDS)[moment.habit](step, head);
}

/** The state of the room, in one sentence. `control` is undefined if there is no control. */
export function finding(
  step: number,
  copied: number | undefined,
  control: number | undefined,
  off: readonly HeadPlace[] = [],
): string {
  if (copied === undefined)
    return t`Nothing is trained yet: the weights are random numbers. Let them learn, and watch the heads form.`;
  const when = whenWords(step);
  const two = percent(copied, 1);
  const sentence =
    control === undefined
      ? t`${when} the two layers copy ${two} of the repeated tokens.`
      : t`${when} the two layers copy ${two} of the repeated tokens, and one layer copies ${percent(control, 1)}.`;
  return off.length === 0 ? capital(sentence) : t`Without ${listed(off.map(headWords))}: ${sentence}`;
}

function whenWords(step: number): string {
  if (step === 0) return t`before the first step`;
  return step === 1 ? t`after 1 step` : t`after ${grouped(step)} steps`;
}

/** What to look for now. */
export function lookFor(step: number, moments: Moments, hasControl: boolean): string {
  const previous = moments.having("previous").filter(({ layer }) => layer === 1);
  const induction = moments.having("induction").filter(({ layer }) => layer === 2);
  const control = hasControl
    ? t`The control has one layer: its keys do not know what stood before them, so it cannot find the one that comes after its own.`
    : "";
  if (step === 0)
    return t`The maps of random weights have no lines: every token looks at all tokens before it, about equally.`;
  if (induction.length > 0)
    return joined(
      inductionWords(induction),
      t`Its line lies above the middle diagonal of the lower half: a repeated token finds its first place, looks one further, and says what stands there.`,
      previous.length > 0
        ? t`Switch ${headWords(previous[0]!)} off, and see what is left of the line.`
        : t`Switch a head of layer 1 off, and see what is left of the line.`,
      control,
    );
  if (previous.length > 0)
    return joined(
      previousWords(previous),
      t`Now a head of layer 2 can look for the token that came after its own. Look for a line in the lower half of its map.`,
    );
  return joined(
    t`First look for a line beside the diagonal in layer 1: a head that looks at the token before. Later look for a line in the lower left half of a map of layer 2.`,
    control,
  );
}

function inductionWords(places: readonly HeadPlace[]): string {
  const heads = capital(listed(places.map(headWords)));
  return places.length === 1 ? t`${heads} is an induction head.` : t`${heads} are induction heads.`;
}

function previousWords(places: readonly HeadPlace[]): string {
  const heads = capital(listed(places.map(headWords)));
  return places.length === 1
    ? t`${heads} tells every token what stands before it.`
    : t`${heads} tell every token what stands before it.`;
}

/** "token before 97 %, what followed 2 %, same token 0 %" */
export function scoreWords({ previous, induction, same }: HeadScores): string {
  return t`token before ${percent(previous, 1)}, what followed ${percent(induction, 1)}, same token ${percent(same, 1)}`;
}

/** The strongest habit of a head, for the words under its map; undefined if it has none. */
export function habitOf(scores: HeadScores): Habit | undefined {
  const strongest = (["induction", "previous", "same"] as const).reduce((best, habit) =>
    scores[habit] > scores[best] ? habit : best,
  );
  return scores[strongest] >= 0.3 ? strongest : undefined;
}

/** The short name of a habit. */
export const HABIT_NAMES: Readonly<Record<Habit, string>> = {
  previous: t`token before`,
  induction: t`what followed`,
  same: t`same token`,
};

/** What the read-out of a cell says: “M₂ gives 93 % of its attention to P₁, which followed M the last time.” */
export function cellWords(names: readonly string[], half: number, query: number, key: number, weight: number): string {
  const [from, share, to] = [names[query]!, percent(weight, 1), names[key]!];
  if (key === query - 1) return t`“${from}” gives ${share} of its attention to “${to}”, the token before.`;
  if (key === query - half + 1 && query >= half)
    return t`“${from}” gives ${share} of its attention to “${to}”, which followed this token last time.`;
  if (key === query - half) return t`“${from}” gives ${share} of its attention to “${to}”, the same token last time.`;
  if (key === query) return t`“${from}” gives ${share} of its attention to “${to}”, which is itself.`;
  return t`“${from}” gives ${share} of its attention to “${to}”.`;
}

/** "38 ms a step, 2 threads" */
export function speedWords(millisecondsPerStep: number | undefined, threads: number): string {
  const all = counted(threads, "thread");
  if (millisecondsPerStep === undefined) return all;
  return `${t`${decimal(millisecondsPerStep, millisecondsPerStep < 10 ? 1 : 0)} ms a step`} · ${all}`;
}

/** Names of the tokens of a sequence: letters with 1 the first time, with 2 when repeated. */
export function tokenNames(tokens: ArrayLike<number>, half: number): string[] {
  return Array.from(tokens, (token, place) => `${letter(token)}${place < half ? "₁" : "₂"}`);
}

function letter(token: number): string {
  return REPEAT_CHARACTERS.all[token] ?? `#${token}`;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Sentences, one after the other. */
function joined(...sentences: readonly string[]): string {
  return sentences.filter(Boolean).join(" ");
}
