import { textOf, tokensOf, unitOf, vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import type { Candidate } from "../../../generate/sampling.js";
import type { CacheState, Endless, Written } from "../../engine/generateProtocol.js";
import { graphemes } from "../../../model/graphemes.js";
import { listed, percent } from "../../shell/amounts.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { headWords } from "../../shell/headWords.js";
import { bytes, counted, decimal, grouped, many, rounded, scientific } from "../../shell/numbers.js";
import type { STORY_BEGINNINGS } from "./settings.js";
import { t } from "../../../texts/t.js";

const SIGNS: Readonly<Record<string, string>> = { " ": "␣", "\n": "⏎", "\t": "⇥" };

/** A character that can be seen. */
export function sign(letter: string): string {
  return SIGNS[letter] ?? letter;
}

export { headWords };

/** What a decoder reads one of at a time. */
export type Unit = ReturnType<typeof unitOf>;

/** "1 word", "3,000 characters" */
export function countWords(count: number, unit: Unit): string {
  const shown = grouped(count);
  if (unit === "word") return count === 1 ? t`1 word` : t`${shown} words`;
  return count === 1 ? t`1 character` : t`${shown} characters`;
}

const BEGINNING_NAMES: Readonly<Record<keyof typeof STORY_BEGINNINGS, string>> = {
  gift: t`gift`,
  song: t`song`,
  list: t`list`,
  pets: t`pets`,
  numbers: t`numbers`,
  places: t`places`,
};

/** The name of one of the beginnings of stories. */
export function beginningWords(name: string): string {
  return BEGINNING_NAMES[name as keyof typeof STORY_BEGINNINGS];
}

/** What stands under the room's title. */
export function finding(
  config: DecoderConfig,
  { tokens, caches }: Written,
  [first, second]: readonly Candidate[],
): string {
  const names = vocabularyOf(config).tokens;
  const name = ({ token }: Candidate) => sign(names[token]!);
  const { bytes: size } = caches.find(({ isWriter }) => isWriter)!;
  const [after, taken] = [countWords(lengthOf(tokens, config), unitOf(config)), bytes(size)];
  const [likeliest, chance] = [name(first!), percent(first!.chance, 1)];
  if (!second || second.chance <= 0)
    return t`After ${after} “${likeliest}” has ${chance} to be taken next; keys and values take ${taken}.`;
  return t`After ${after} “${likeliest}” has ${chance}, “${name(second)}” has ${percent(second.chance, 1)} to be taken next; keys and values take ${taken}.`;
}

/** The tokens that are shown: the start is not. */
function lengthOf(tokens: Int32Array, { start }: DecoderConfig): number {
  return tokens.length - Number(start !== undefined);
}

const CACHE_NAMES: Readonly<Record<CacheState["name"], string>> = {
  float32: "float32",
  float16: "float16",
  int8: "int8",
  whole: t`float32, all tokens`,
};

export function cacheName({ name }: CacheState): string {
  return CACHE_NAMES[name];
}

/** "0.4 percentage points", "6 · 10⁻⁸", "reference" */
export function changeWords({ change }: CacheState): string {
  if (change === undefined) return t`the reference`;
  if (change === 0) return t`no change`;
  return change >= 0.0005 ? t`${decimal(100 * change, change < 0.01 ? 2 : 1)} percentage points` : scientific(change);
}

/** What the table of caches shows, in a sentence. */
export function cacheWords(caches: readonly CacheState[], { layers, width, start }: DecoderConfig): string {
  const [full] = caches;
  const int8 = caches.find(({ name }) => name === "int8")!;
  const times = decimal(full!.bytes / int8.bytes, 1);
  const whole = caches.find(({ name }) => name === "whole");
  const all = t`Each token adds ${layers} layers × 2 × ${width} numbers; int8 takes ${times} times less than float32. Memory comes in blocks, so it grows in steps.`;
  const begun =
    start === undefined ? all : `${all} ${t`One token marks the start of the text. It is kept too, and is not shown.`}`;
  if (!whole) return begun;
  const ring = t`The ring holds ${counted(full!.tokens, "token")} of ${grouped(whole.tokens)}, and does not grow any more once it is full.`;
  return `${begun} ${ring}`;
}

/** What of the beginning is not read, and a sum that is none; "" if the model reads it all. */
export function unreadWords(begin: string, config: DecoderConfig): string {
  const unknown = unknownOf(begin, config);
  const read = textOf(tokensOf(begin, config), config);
  const isSum = config.kind !== "sums" || /^(\d{0,3}|\d{1,3}\+\d{0,3}|\d{1,3}\+\d{1,3}=\d*)$/.test(read);
  const rest = read === "" ? t`Nothing of this can be read.` : isSum ? "" : t`It reads “${read}”, which is no sum.`;
  const sum = isSum && read !== "" ? "" : config.kind === "sums" ? t`A sum is two numbers of up to three digits, such as 123+456=.` : ""; // oxfmt-ignore
  const lost = unknown.length > 0 ? unknownWords(unknown, unitOf(config)) : "";
  return begin === "" ? "" : [lost, rest, sum].filter(Boolean).join(" ");
}

/** The first words or signs that the model does not know, and how many more. */
function unknownWords(unknown: readonly string[], unit: Unit): string {
  const names = unknown.slice(0, 5).map((each) => t`“${sign(each)}”`);
  const left = unknown.length - names.length;
  const all = listed(left > 0 ? [...names, othersWords(left, unit)] : names);
  if (unit === "character") return t`This model does not know ${all}, and leaves out what it does not know.`;
  return unknown.length === 1
    ? t`This model does not know the word ${all}, and leaves out what it does not know.`
    : t`This model does not know the words ${all}, and leaves out what it does not know.`;
}

function othersWords(count: number, unit: Unit): string {
  const shown = grouped(count);
  if (unit === "word") return count === 1 ? t`1 other word` : t`${shown} other words`;
  return count === 1 ? t`1 other character` : t`${shown} other characters`;
}

/** The words or signs of a text that a model does not know. A sign that people see as one is one, such as 👩‍🚀. */
function unknownOf(text: string, config: DecoderConfig): readonly string[] {
  const vocabulary = vocabularyOf(config);
  if (config.words) return vocabulary.unknown(text);
  return [...new Set(graphemes(text).filter((sign) => vocabulary.unknown(sign).length > 0))];
}

/** What the twin has written, beside the text without some heads. */
export function twinWords(config: DecoderConfig, { tokens, twin, begun }: Written, off: readonly HeadPlace[]): string {
  if (!twin) return "";
  const same = tokens.findIndex((token, at) => token !== twin[at]);
  const heads = listed(off.map(headWords));
  if (same < 0)
    return tokens.length > begun
      ? t`Without ${heads} it has written the same so far.`
      : t`Without ${heads}: write on, and compare with what it writes with all heads.`;
  const from = lengthOf(tokens.subarray(0, same + 1), config);
  return unitOf(config) === "word"
    ? t`Without ${heads} the text goes another way from word ${from} on. With all heads on it is:`
    : t`Without ${heads} the text goes another way from character ${from} on. With all heads on it is:`;
}

/** Whether a sum is right: “123+456=579” */
export function sumWords(text: string, isReversed = false): string {
  const [, a, b, answer] = /^\s*(\d+)\s*\+\s*(\d+)\s*=\s*(\d+)\D*$/.exec(text) ?? [];
  if (answer === undefined) return "";
  const given = Number(isReversed ? [...answer].reverse().join("") : answer);
  const right = Number(a) + Number(b);
  const verdict =
    given === right
      ? t`${a!} + ${b!} = ${given} is right.`
      : t`${a!} + ${b!} is ${right}, and the model says ${given}.`;
  if (!isReversed) return verdict;
  return `${verdict} ${t`The answer is written from its last digit to its first, as on paper.`}`;
}

/** What the three ways to keep a long text cost, over the groups after the ring was full. */
export function endlessWords(config: DecoderConfig, { whole, sinks, window, group }: Endless, kept: number): string {
  const full = Math.ceil(kept / group);
  if (whole.length <= full) return "";
  const mean = (values: readonly number[]) => {
    const after = values.slice(full);
    return after.reduce((sum, value) => sum + value, 0) / after.length;
  };
  const nats = (values: readonly number[]) => decimal(mean(values), 2);
  const at = grouped(full * group);
  const measured =
    unitOf(config) === "word"
      ? t`After word ${at}, where the rings are full: ${nats(whole)} nats a word with all tokens, ${nats(sinks)} with a ring that keeps the first ones, ${nats(window)} with a ring of the last ones only.`
      : t`After character ${at}, where the rings are full: ${nats(whole)} nats a character with all tokens, ${nats(sinks)} with a ring that keeps the first ones, ${nats(window)} with a ring of the last ones only.`;
  const isBeyond = whole.length * group > config.context;
  const made = isBeyond ? ` ${t`The model is made for ${countWords(config.context, unitOf(config))}.`}` : "";
  return `${measured} ${sinkWords(rounded(mean(window)) - rounded(mean(sinks)))}${made}`;
}

/** Whether it helps a ring to keep the first tokens. Both rings hold equally many. `saved` are nats, as they are shown. */
function sinkWords(saved: number): string {
  const nats = decimal(Math.abs(saved), 2);
  if (saved === 0) return t`Here it makes no difference whether the ring keeps the first tokens.`;
  return saved > 0
    ? t`Here it helps to keep the first tokens: it saves ${nats} nats.`
    : t`Here it does not help to keep the first tokens: as many more of the last ones save ${nats} nats.`;
}

/** Where the model comes from, and what it can do. */
export function modelWords(config: DecoderConfig): string {
  const { layers, heads, width, context, source, figures } = config;
  const parameters = many(figures.parameters);
  const sizes =
    unitOf(config) === "word"
      ? t`${parameters} parameters: ${layers} layers of ${heads} heads, ${width} wide, for ${context} words.`
      : t`${parameters} parameters: ${layers} layers of ${heads} heads, ${width} wide, for ${context} characters.`;
  const time =
    figures.minutes !== undefined ? t`It learned for ${counted(Math.round(figures.minutes), "minute")}.` : "";
  return [sizes, sourceWords(source), figureWords(config), time].filter(Boolean).join(" ");
}

/** What a stored decoder has learned from. Its file says it in English. */
const SOURCES: Readonly<Record<string, string>> = {
  "Stories that a grammar writes": t`Stories that a grammar writes.`,
  "Sums of two numbers of one to three digits": t`Sums of two numbers of one to three digits.`,
};

function sourceWords(source: string): string {
  return SOURCES[source] ?? source.replace(/\.?$/, ".");
}

function figureWords({ kind, figures: { exact, natsPerCharacter, stories } }: DecoderConfig): string {
  if (kind === "sums")
    return exact === undefined ? "" : t`Of sums that it has not learned, it answers ${percent(exact, 1)} exactly.`;
  if (stories) {
    const { temperature, parse, true: isTrue } = stories.written;
    return t`It writes at temperature ${grouped(temperature)} without a top k: ${percent(parse, 1)} of its sentences are of the grammar, and ${percent(isTrue, 1)} are also true in their story. A comma, a stop or a quote counts as a word.`;
  }
  return natsPerCharacter === undefined
    ? ""
    : t`On text that it has not learned from it has ${decimal(natsPerCharacter, 2)} nats a character.`;
}

export function speedWords(config: DecoderConfig, speed: number | undefined, threads: number): string {
  const all = counted(threads, "thread");
  if (speed === undefined) return all;
  const shown = speed < 10 ? decimal(speed, 1) : grouped(Math.round(speed));
  const rate = unitOf(config) === "word" ? t`${shown} words a second` : t`${shown} characters a second`;
  return `${rate} · ${all}`;
}
