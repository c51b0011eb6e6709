import { counted, decimal, significant } from "../../shell/numbers.js";
import type { Calculation } from "./calculation.js";
import { aimOf, HANDS } from "./handmade.js";
import type { Settings } from "./settings.js";
import { DIM, LONGEST, splitText } from "./vocabulary.js";

// The sentences of the room. Each is a function of the settings and of the numbers that are drawn.

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
export function finding({ names, plain, placed }: Calculation, { kind, words }: Settings): string {
  const twins = twinsOf(splitText(words).slice(0, LONGEST));
  if (!twins) return "No word stands twice here. Write one again: without positions its two rows are the same.";
  const [first, second] = twins.map((word) => names[word]!) as [string, string];
  const [without, withThem] = [plain, placed].map((weights) => rowsApart(weights, names.length, twins)) as [
    number,
    number,
  ];
  return (
    `Without positions the rows of ${first} and ${second} ${apart(without)}; ` +
    `with ${kind} positions they ${apart(withThem)}.`
  );
}

function apart(difference: number): string {
  return difference === 0 ? "are the same, number for number" : `differ by ${upTo(difference)}`;
}

/** "up to 12.3 percentage points" */
function upTo(share: number): string {
  const points = 100 * share;
  return points < 0.05 ? "less than 0.1 percentage points" : `up to ${decimal(points, 1)} percentage points`;
}

/** How the text became words, and how many are left out. */
export function splitting({ words }: Settings): string {
  const all = splitText(words).length;
  if (all === 0) return "The text has no word, so “word” stands for one.";
  const rule = "A punctuation mark counts as a word, and capitals do not matter.";
  if (all <= LONGEST) return `${counted(all, "word")}. ${rule}`;
  const left = all - LONGEST;
  return `The first ${LONGEST} of ${all} words are shown; the last ${left === 1 ? "one is" : `${left} are`} left out. ${rule}`;
}

/** Whether the weights depend on where the text begins. */
export function beginning({ placed, moved }: Calculation, { kind, offset }: Settings): string {
  if (offset === 0) return "Both texts begin at place 1. Move one of them with the slider.";
  const change = largestDifference(placed, moved);
  const later = `${counted(offset, "place")} later`;
  if (change === 0) return `No: ${later} every weight is the same, number for number.`;
  if (kind === "rotary") return `No: ${later} every weight is the same, but for rounding (${rounding(change)}).`;
  return `Yes: ${later} the weights change by ${upTo(change)}.`;
}

/** The same for each kind of positions, side by side; "" where no text is moved. */
export function kindsWords({ changes }: Pick<Calculation, "changes">, { offset }: Pick<Settings, "offset">): string {
  if (offset === 0) return "";
  const { learned, sinusoidal, rotary } = changes;
  return `Side by side: learned positions change weights by ${upTo(learned)}, sinusoidal ones by ${upTo(sinusoidal)}, rotary ones by ${upTo(rotary)}.`;
}

function rounding(change: number): string {
  const points = 100 * change;
  return points < 0.001
    ? "less than 0.001 percentage points"
    : `at most ${decimal(roundedUp(points), 3)} percentage points`;
}

const roundedUp = (points: number) => Math.ceil(1000 * points) / 1000;

/** What the two curves of scores show. */
export function curvesWords({ names, curves: [here, there] }: Calculation, { kind, offset }: Settings): string {
  const word = names[0]!;
  if (offset === 0)
    return `How much ${word} scores itself at each distance. Both curves begin at place 1, so they are one.`;
  const keys = `Solid: the text begins at place 1. Dashed: it begins at place ${1 + offset}.`;
  const difference = largestDifference(here, there);
  if (kind === "rotary" || difference === 0) return `${keys} The curves are one: only the distance counts.`;
  const parting = difference < 0.005 ? "less than 0.01" : `up to ${decimal(difference)}`;
  return `${keys} They part by ${parting}: the place itself counts.`;
}

/** That two words in one place are moved by the same row. */
export function addedWords({ names, added }: Calculation, { kind, word, other }: Settings): string {
  const table = kind === "learned" ? "learned" : "sinusoidal";
  const largest = Math.max(...added.row.data.map(Math.abs));
  const pair = word === other ? `${names[word]} is` : `${names[word]} and ${names[other]} are both`;
  return (
    `Place ${added.place} has one row in the ${table} table, and every word that stands there gets it: ${pair} moved by ` +
    `the same ${DIM} numbers, the largest of size ${decimal(largest)}.`
  );
}

/** The angle per place of a pair of features. */
export function frequencyOf({ base, pair }: Pick<Settings, "base" | "pair">): number {
  return 10 ** (base * ((-2 * pair) / DIM));
}

/** What a pair of columns of the sinusoidal table holds. */
export function waveWords(settings: Settings): string {
  const frequency = frequencyOf(settings);
  const { pair } = settings;
  return (
    `Pair ${pair}, features ${2 * pair} and ${2 * pair + 1}: sine and cosine of place × ${significant(frequency)}. ` +
    `The wave repeats every ${significant((2 * Math.PI) / frequency)} places.`
  );
}

/** How a pair of features of a query and of a key turns. */
export function planeWords({ names, turned: { query, key, product } }: Calculation, settings: Settings): string {
  const frequency = frequencyOf(settings);
  const angle = (places: number) => `${significant(places * frequency)} rad`;
  const [q, k] = [names[settings.query]!, names[settings.key]!];
  const distance = Math.abs(query.place - key.place);
  const order = query.place > key.place ? "before" : "after";
  const where =
    distance === 0
      ? "Both stand in one place, so the angle between them stays as it was."
      : `The key stands ${counted(distance, "place")} ${order} the query, so the angle between them changes by ${angle(distance)}.`;
  return (
    `The query of ${q} at place ${query.place} turns by ${angle(query.place)}, the key of ${k} at place ${key.place} by ${angle(key.place)}. ` +
    `${where} Their product in this plane is ${decimal(product)}, wherever the text begins.`
  );
}

/** What the chosen hand-made head does. */
export function handWords({ names, hands }: Calculation, { hand }: Settings): string {
  const size = names.length;
  if (size === 1) return "There is one word only: it can look at nothing but itself.";
  const head = HANDS.indexOf(hand);
  const share = (word: number) => hands[(head * size + word) * size + aimOf(hand, word)]!;
  const shares = names.map((_, word) => share(word));
  switch (hand) {
    case "back":
      return (
        `Every word after the first looks most at the word before it, with at least ${percentDown(Math.min(...shares.slice(1)))}. ` +
        `Nothing stands before the first word: it looks most at itself, with at least ${percentDown(shares[0]!)}.`
      );
    case "first":
      return `Every word looks most at the first one, with at least ${percentDown(Math.min(...shares))}.`;
    case "itself":
      return `Every word looks most at itself, with at least ${percentDown(Math.min(...shares))}.`;
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
    return "No filter of a convolution does this: the first word is at another distance from each word. A head asks for it by its place.";
  const head = HANDS.indexOf(hand);
  const distance = hand === "back" ? 1 : 0;
  const weight = (word: number) => hands[(head * size + word) * size + word - distance]!;
  const words = names.map((_, word) => word).slice(distance);
  const apart = Math.max(...words.map((word) => 1 - weight(word)));
  const [place, which] = distance === 1 ? ["one place back", " after the first word"] : ["at the place itself", ""];
  return `A filter of a convolution with weight 1 ${place} looks there too: the weights of this head${which} differ from it by ${upTo(apart)}. A filter has the same weights for every word, and a fixed width; a head makes its weights from what it reads.`;
}

/** A share in percent, rounded down. */
function percentDown(share: number): string {
  return `${decimal(Math.floor(1000 * share) / 10, 1)} %`;
}
