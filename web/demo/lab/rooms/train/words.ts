import { REPEAT_CHARACTERS } from "../../../train/repeat.js";
import { listed, percent } from "../../shell/amounts.js";
import { headLabel, headWords as placeWords } from "../../shell/headWords.js";
import { counted, decimal } from "../../shell/numbers.js";
import type { Moment, Moments } from "./moments.js";
import type { Habit, HeadScores } from "./scores.js";
import type { HeadPlace } from "./settings.js";

/** What a head with a habit looks at. */
const LOOKS_AT: Readonly<Record<Habit, string>> = {
  previous: "the token before",
  induction: "what followed this token last time",
  same: "the same token, where it stood last time",
};

/** "layer 2 head 1", "the control’s head 3" */
export function headWords(place: HeadPlace): string {
  return place.layer === 0 ? `the control’s ${headLabel(place.head)}` : placeWords(place);
}

/** "Step 740: layer 2 head 1 now looks at what followed this token last time." */
export function momentWords(moment: Moment): string {
  const when = `Step ${moment.step.toLocaleString("en")}`;
  if (moment.kind === "copies")
    return `${when}: the two layers copy ${percent(moment.share, 1)} of the repeated tokens.`;
  if (moment.kind === "switched")
    return `${when}: you switched ${headWords(moment.place)} ${moment.isOn ? "on" : "off"}.`;
  const looks = moment.kind === "begins" ? "now looks at" : "does not look any more at";
  return `${when}: ${headWords(moment.place)} ${looks} ${LOOKS_AT[moment.habit]}.`;
}

/** The state of the room, in one sentence. `control` is undefined if there is no control. */
export function finding(
  step: number,
  copied: number | undefined,
  control: number | undefined,
  off: readonly HeadPlace[] = [],
): string {
  if (copied === undefined)
    return "Nothing is trained yet: the weights are random numbers. Let them learn, and watch the heads form.";
  const without = off.length === 0 ? "" : `Without ${listed(off.map(headWords))}: `;
  const after = step === 0 ? "before the first step" : `after ${counted(step, "step")}`;
  const two = `${after} the two layers copy ${percent(copied, 1)} of the repeated tokens`;
  const one = control === undefined ? "" : `, and one layer copies ${percent(control, 1)}`;
  const sentence = `${two}${one}.`;
  return without + (without ? sentence : sentence[0]!.toUpperCase() + sentence.slice(1));
}

/** What to look for now. */
export function lookFor(step: number, moments: Moments, hasControl: boolean): string {
  const previous = moments.having("previous").filter(({ layer }) => layer === 1);
  const induction = moments.having("induction").filter(({ layer }) => layer === 2);
  const control = hasControl
    ? " The control has one layer: its keys do not know what stood before them, so it cannot find the one that comes after its own."
    : "";
  if (step === 0)
    return "The maps of random weights have no lines: every token looks at all tokens before it, about equally.";
  if (induction.length > 0)
    return `${sentence(`${listed(induction.map(headWords))} ${induction.length === 1 ? "is an induction head" : "are induction heads"}`)} Its line lies above the middle diagonal of the lower half: a repeated token finds its first place, looks one further, and says what stands there. Switch ${previous.length > 0 ? headWords(previous[0]!) : "a head of layer 1"} off, and see what is left of the line.${control}`;
  if (previous.length > 0)
    return `${sentence(`${listed(previous.map(headWords))} ${previous.length === 1 ? "tells" : "tell"} every token what stands before it`)} Now a head of layer 2 can look for the token that came after its own. Look for a line in the lower half of its map.`;
  return `First look for a line beside the diagonal in layer 1: a head that looks at the token before. Later look for a line in the lower left half of a map of layer 2.${control}`;
}

/** "token before 97 %, what followed 2 %, same token 0 %" */
export function scoreWords({ previous, induction, same }: HeadScores): string {
  return `token before ${percent(previous, 1)}, what followed ${percent(induction, 1)}, same token ${percent(same, 1)}`;
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
  previous: "token before",
  induction: "what followed",
  same: "same token",
};

/** What the read-out of a cell says: “M₂ gives 93 % of its attention to P₁, which followed M the last time.” */
export function cellWords(names: readonly string[], half: number, query: number, key: number, weight: number): string {
  const what = `“${names[query]!}” gives ${percent(weight, 1)} of its attention to “${names[key]!}”`;
  if (key === query - 1) return `${what}, the token before.`;
  if (key === query - half + 1 && query >= half) return `${what}, which followed this token last time.`;
  if (key === query - half) return `${what}, the same token last time.`;
  if (key === query) return `${what}, which is itself.`;
  return `${what}.`;
}

/** "38 ms a step, 2 threads" */
export function speedWords(millisecondsPerStep: number | undefined, threads: number): string {
  const speed =
    millisecondsPerStep === undefined
      ? ""
      : `${decimal(millisecondsPerStep, millisecondsPerStep < 10 ? 1 : 0)} ms a step · `;
  return `${speed}${counted(threads, "thread")}`;
}

/** Names of the tokens of a sequence: letters with 1 the first time, with 2 when repeated. */
export function tokenNames(tokens: ArrayLike<number>, half: number): string[] {
  return Array.from(tokens, (token, place) => `${letter(token)}${place < half ? "₁" : "₂"}`);
}

function letter(token: number): string {
  return REPEAT_CHARACTERS.all[token] ?? `#${token}`;
}

function sentence(words: string): string {
  return `${words[0]!.toUpperCase()}${words.slice(1)}.`;
}
