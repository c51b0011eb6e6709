import { counted, decimal, significant, withUnit } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import type { Calculation } from "./calculation.js";
import { aimOf, HANDS } from "./handmade.js";
import type { PlacedKind } from "./placing.js";
import type { Settings } from "./settings.js";
import { DIM, LONGEST, splitText } from "./vocabulary.js";
import { PERCENT } from "../../../texts/percent.js";

// The sentences of the room. Each is a function of the settings and of the numbers that are drawn.

export const WITH_POSITIONS: Readonly<Record<PlacedKind, string>> = {
  learned: t`with learned positions`,
  sinusoidal: t`with sinusoidal positions`,
  rotary: t`with rotary positions`,
};

/** Two equal words of the text, by index; undefined if no word stands twice. */
export function twinsOf(words: readonly string[]): readonly [first: number, second: number] | undefined {
  const first = words.findIndex((word, i) => words.includes(word, i + 1));
  return first < 0 ? undefined : [first, words.indexOf(words[first]!, first + 1)];
}

/** The largest difference between the rows of two words. */
export function rowsApart(weights: Float32Array, size: number, [a, b]: readonly [number, number]): number {
  const row = (i: number) => weights.subarray(i * size, (i + 1) * size);
  return largestDifference(row(a), row(b));
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)));
}

/** The room's finding: what positions change for a word that stands twice. */
export function finding({ names, plain, placed: withPositions }: Calculation, { kind, words }: Settings): string {
  const twins = twinsOf(splitText(words).slice(0, LONGEST));
  if (!twins)
    return t`No word stands twice here. Write one again, and compare its two rows, with positions and without.`;
  const [first, second] = twins.map((word) => names[word]!) as [string, string];
  const [without, withThem] = [plain, withPositions].map((weights) => rowsApart(weights, names.length, twins)) as [
    number,
    number,
  ];
  const placed = WITH_POSITIONS[kind];
  const they =
    withThem === 0
      ? t`${placed} they are the same, number for number.`
      : t`${placed} they differ by ${upTo(withThem)}.`;
  return without === 0
    ? t`Without positions the rows of “${first}” and “${second}” are the same, number for number; ${they}`
    : t`Without positions the rows of “${first}” and “${second}” differ by ${upTo(without)}; ${they}`;
}

/** "up to 12.3 percentage points" */
function upTo(share: number): string {
  const points = 100 * share;
  return points < 0.05
    ? t`less than ${decimal(0.1, 1)} percentage points`
    : t`up to ${decimal(points, 1)} percentage points`;
}

/** How the text became words, and how many are left out. */
export function splitting({ words }: Settings): string {
  const all = splitText(words).length;
  if (all === 0) return t`The text has no word, so “word” stands for one.`;
  const rule = t`A punctuation mark counts as a word, and capitals do not matter.`;
  if (all <= LONGEST) return `${counted(all, "word")}. ${rule}`;
  const left = all - LONGEST;
  return left === 1
    ? t`The first ${LONGEST} of ${all} words are shown; the last one is left out. ${rule}`
    : t`The first ${LONGEST} of ${all} words are shown; the last ${left} are left out. ${rule}`;
}

/** Whether the weights depend on where the text begins. */
export function beginning({ placed, moved }: Calculation, { kind, offset }: Settings): string {
  if (offset === 0) return t`Both texts begin at place 1. Move one of them with the slider.`;
  const change = largestDifference(placed, moved);
  const places = counted(offset, "place");
  if (change === 0) return t`No: ${places} later every weight is the same, number for number.`;
  if (kind === "rotary")
    return t`No: ${places} later every weight is the same, but for rounding (${rounding(change)}).`;
  return t`Yes: ${places} later the weights change by ${upTo(change)}.`;
}

/** The same for each kind of positions, side by side; "" where no text is moved. */
export function kindsWords({ changes }: Pick<Calculation, "changes">, { offset }: Pick<Settings, "offset">): string {
  if (offset === 0) return "";
  const { learned, sinusoidal, rotary } = changes;
  return t`Side by side: learned positions change weights by ${upTo(learned)}, sinusoidal ones by ${upTo(sinusoidal)}, rotary ones by ${upTo(rotary)}.`;
}

function rounding(change: number): string {
  const points = 100 * change;
  return points < 0.001
    ? t`less than ${decimal(0.001, 3)} percentage points`
    : t`at most ${decimal(roundedUp(points), 3)} percentage points`;
}

const roundedUp = (points: number) => Math.ceil(1000 * points) / 1000;

/** What the two curves of scores show. */
export function curvesWords({ names, curves: [here, there] }: Calculation, { kind, offset }: Settings): string {
  const word = names[0]!;
  if (offset === 0)
    return t`How much “${word}” scores itself at each distance. Both curves begin at place 1, so they are one.`;
  const keys = t`Solid: the text begins at place 1. Dashed: it begins at place ${1 + offset}.`;
  const difference = largestDifference(here, there);
  if (kind === "rotary" || difference === 0) return t`${keys} The curves are one: only the distance counts.`;
  const parting = difference < 0.005 ? t`less than ${decimal(0.01)}` : t`up to ${decimal(difference)}`;
  return t`${keys} They part by ${parting}: the place itself counts.`;
}

/** That two words in one place are moved by the same row. */
export function addedWords({ names, added }: Calculation, { kind, word, other }: Settings): string {
  const where = kind === "learned" ? t`in the learned table` : t`in the sinusoidal table`;
  const largest = Math.max(...added.row.data.map(Math.abs));
  const [one, another] = [names[word]!, names[other]!];
  const both = word === other ? t`“${one}” is` : t`“${one}” and “${another}” are both`;
  return t`Place ${added.place} has one row ${where}, and every word that stands there gets it: ${both} moved by the same ${DIM} numbers, the largest of size ${decimal(largest)}.`;
}

/** The angle per place of a pair of features. */
export function frequencyOf({ base, pair }: Pick<Settings, "base" | "pair">): number {
  return 10 ** (base * ((-2 * pair) / DIM));
}

/** What a pair of columns of the sinusoidal table holds. */
export function waveWords(settings: Settings): string {
  const frequency = frequencyOf(settings);
  const { pair } = settings;
  return t`Pair ${pair + 1}, features ${2 * pair + 1} and ${2 * pair + 2}: sine and cosine of place × ${significant(frequency)}. The wave repeats every ${significant((2 * Math.PI) / frequency)} places.`;
}

/** How a pair of features of a query and of a key turns. */
export function planeWords({ names, turned: { query, key, product } }: Calculation, settings: Settings): string {
  const frequency = frequencyOf(settings);
  const angle = (places: number) => withUnit(significant(places * frequency), "rad");
  const [q, k] = [names[settings.query]!, names[settings.key]!];
  const distance = Math.abs(query.place - key.place);
  const places = counted(distance, "place");
  const where =
    distance === 0
      ? t`Both stand in one place, so the angle between them stays as it was.`
      : query.place > key.place
        ? t`The key stands ${places} before the query, so the angle between them changes by ${angle(distance)}.`
        : t`The key stands ${places} after the query, so the angle between them changes by ${angle(distance)}.`;
  return t`The query of “${q}” at place ${query.place} turns by ${angle(query.place)}, the key of “${k}” at place ${key.place} by ${angle(key.place)}. ${where} Their product in this plane is ${decimal(product)}, wherever the text begins.`;
}

/** What the chosen hand-made head does. */
export function handWords({ names, hands }: Calculation, { hand }: Settings): string {
  const size = names.length;
  if (size === 1) return t`There is one word only: it can look at nothing but itself.`;
  const head = HANDS.indexOf(hand);
  const share = (word: number) => hands[(head * size + word) * size + aimOf(hand, word)]!;
  const shares = names.map((_, word) => share(word));
  switch (hand) {
    case "back":
      return t`Every word after the first looks most at the word before it, with at least ${percentDown(Math.min(...shares.slice(1)))}. Nothing stands before the first word: it looks most at itself, with at least ${percentDown(shares[0]!)}.`;
    case "first":
      return t`Every word looks most at the first one, with at least ${percentDown(Math.min(...shares))}.`;
    case "itself":
      return t`Every word looks most at itself, with at least ${percentDown(Math.min(...shares))}.`;
    default:
      return hand satisfies never;
  }
}

/** The hand-made head beside a convolution: a filter has one weight for each distance, the same at every place. */
export function filterWords(
  { names, hands }: Pick<Calculation, "names" | "hands">,
  { hand }: Pick<Settings, "hand">,
): string {
  const size = names.length;
  if (size === 1) return "";
  if (hand === "first")
    return t`No filter of a convolution does this: the first word is at another distance from each word. A head asks for it by its place.`;
  const head = HANDS.indexOf(hand);
  const distance = hand === "back" ? 1 : 0;
  const weight = (word: number) => hands[(head * size + word) * size + word - distance]!;
  const words = names.map((_, word) => word).slice(distance);
  const apart = Math.max(...words.map((word) => 1 - weight(word)));
  const looks =
    distance === 1
      ? t`A filter of a convolution with weight 1 one place back looks there too: the weights of this head after the first word differ from it by ${upTo(apart)}.`
      : t`A filter of a convolution with weight 1 at the place itself looks there too: the weights of this head differ from it by ${upTo(apart)}.`;
  return t`${looks} A filter has the same weights for every word, and a fixed width; a head makes its weights from what it reads.`;
}

/** A share in percent, rounded down. */
function percentDown(share: number): string {
  return `${decimal(Math.floor(1000 * share) / 10, 1)}${PERCENT}`;
}
