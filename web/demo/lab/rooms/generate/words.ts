import { textOf, tokensOf, unitOf, vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import type { Candidate } from "../../../generate/sampling.js";
import type { CacheState, Endless, Written } from "../../engine/generateProtocol.js";
import { graphemes } from "../../../model/graphemes.js";
import { listed, percent } from "../../shell/amounts.js";
import { headWords } from "../../shell/headWords.js";
import { bytes, counted, decimal, many, scientific } from "../../shell/numbers.js";
import type { HeadPlace } from "./settings.js";

const SIGNS: Readonly<Record<string, string>> = { " ": "␣", "\n": "⏎", "\t": "⇥" };

/** A character that can be seen. */
export function sign(letter: string): string {
  return SIGNS[letter] ?? letter;
}

export { headWords };

/** What stands under the room's title. */
export function finding(
  config: DecoderConfig,
  { tokens, caches }: Written,
  [first, second]: readonly Candidate[],
): string {
  const names = vocabularyOf(config).tokens;
  const name = ({ token, chance }: Candidate) => `“${sign(names[token]!)}” has ${percent(chance, 1)}`;
  const next = [first!, ...(second && second.chance > 0 ? [second] : [])].map(name);
  const { bytes: size } = caches.find(({ isWriter }) => isWriter)!;
  return `After ${counted(lengthOf(tokens, config), unitOf(config))} ${next.join(", ")} to be taken next; keys and values take ${bytes(size)}.`;
}

/** The tokens that are shown: the start is not. */
function lengthOf(tokens: Int32Array, { start }: DecoderConfig): number {
  return tokens.length - Number(start !== undefined);
}

const CACHE_NAMES: Readonly<Record<CacheState["name"], string>> = {
  float32: "float32",
  float16: "float16",
  int8: "int8",
  whole: "float32, all tokens",
};

export function cacheName({ name }: CacheState): string {
  return CACHE_NAMES[name];
}

/** "0.4 percentage points", "6 · 10⁻⁸", "reference" */
export function changeWords({ change }: CacheState): string {
  if (change === undefined) return "the reference";
  if (change === 0) return "no change";
  return change >= 0.0005 ? `${decimal(100 * change, change < 0.01 ? 2 : 1)} percentage points` : scientific(change);
}

/** What the table of caches shows, in a sentence. */
export function cacheWords(caches: readonly CacheState[], { layers, width }: DecoderConfig): string {
  const [full] = caches;
  const int8 = caches.find(({ name }) => name === "int8")!;
  const formula = `Each token adds ${layers} layers × 2 × ${width} numbers`;
  const times = decimal(full!.bytes / int8.bytes, 1);
  const whole = caches.find(({ name }) => name === "whole");
  const ring = whole
    ? ` The ring holds ${counted(full!.tokens, "token")} of ${whole.tokens.toLocaleString("en")}, and does not grow any more once it is full.`
    : "";
  return `${formula}; int8 takes ${times} times less than float32. Memory comes in blocks, so it grows in steps.${ring}`;
}

/** What of the beginning is not read, and a sum that is none; "" if the model reads it all. */
export function unreadWords(begin: string, config: DecoderConfig): string {
  const unknown = unknownOf(begin, config);
  const read = textOf(tokensOf(begin, config), config);
  const isSum = config.kind !== "sums" || /^(\d{0,3}|\d{1,3}\+\d{0,3}|\d{1,3}\+\d{1,3}=\d*)$/.test(read);
  const unit = unitOf(config);
  const names = unknown.slice(0, 5).map((each) => `“${sign(each)}”`);
  const left = unknown.length - names.length;
  const all = left > 0 ? [...names, counted(left, `other ${unit}`)] : names;
  const rest = read === "" ? "Nothing of this can be read." : isSum ? "" : `It reads “${read}”, which is no sum.`;
  const sum = isSum && read !== "" ? "" : config.kind === "sums" ? "A sum is two numbers of up to three digits, such as 123+456=." : ""; // prettier-ignore
  const lost =
    all.length > 0
      ? `This model does not know ${unit === "word" ? wordsOf(unknown.length) : ""}${listed(all)}, and leaves out what it does not know.`
      : "";
  return begin === "" ? "" : [lost, rest, sum].filter(Boolean).join(" ");
}

const wordsOf = (count: number) => (count === 1 ? "the word " : "the words ");

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
  const without = `Without ${listed(off.map(headWords))}`;
  if (same < 0)
    return tokens.length > begun
      ? `${without} it has written the same so far.`
      : `${without}: write on, and compare with what it writes with all heads.`;
  return `${without} the text goes another way from ${unitOf(config)} ${lengthOf(tokens.subarray(0, same + 1), config)} on. With all heads on it is:`;
}

/** Whether a sum is right: “123+456=579” */
export function sumWords(text: string, isReversed = false): string {
  const [, a, b, answer] = /^\s*(\d+)\s*\+\s*(\d+)\s*=\s*(\d+)\D*$/.exec(text) ?? [];
  if (answer === undefined) return "";
  const given = Number(isReversed ? [...answer].reverse().join("") : answer);
  const right = Number(a) + Number(b);
  const order = isReversed ? " The answer is written from its last digit to its first, as on paper." : "";
  return given === right
    ? `${a} + ${b} = ${given} is right.${order}`
    : `${a} + ${b} is ${right}, and the model says ${given}.${order}`;
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
  const unit = unitOf(config);
  return `After ${unit} ${(full * group).toLocaleString("en")}, where the rings are full: ${nats(whole)} nats a ${unit} with all tokens, ${nats(sinks)} with a ring that keeps the first ones, ${nats(window)} with a ring of the last ones only.`;
}

/** Where the model comes from, and what it can do. */
export function modelWords(config: DecoderConfig): string {
  const { layers, heads, width, context, source, figures } = config;
  const sizes = `${many(figures.parameters)} parameters: ${layers} layers of ${heads} heads, ${width} wide, for ${context} ${unitOf(config)}s`;
  const figure = figureWords(config);
  const time =
    figures.minutes !== undefined ? ` It learned for ${counted(Math.round(figures.minutes), "minute")}.` : "";
  return `${sizes}. ${source.replace(/\.?$/, ".")}${figure ? ` ${figure}` : ""}${time}`;
}

function figureWords({ kind, figures: { exact, natsPerCharacter, stories } }: DecoderConfig): string {
  if (kind === "sums")
    return exact === undefined ? "" : `Of sums that it has not learned, it answers ${percent(exact, 1)} exactly.`;
  if (stories) {
    const { temperature, parse, true: isTrue } = stories.written;
    return `It writes at temperature ${temperature} without a top k: ${percent(parse, 1)} of its sentences are of the grammar, and ${percent(isTrue, 1)} are also true in their story. A comma, a stop or a quote counts as a word.`;
  }
  return natsPerCharacter === undefined
    ? ""
    : `On text that it has not learned from it has ${decimal(natsPerCharacter, 2)} nats a character.`;
}

export function speedWords(config: DecoderConfig, speed: number | undefined, threads: number): string {
  const rate = speed === undefined ? "" : `${speed < 10 ? decimal(speed, 1) : Math.round(speed).toLocaleString("en")} ${unitOf(config)}s a second · `; // prettier-ignore
  return `${rate}${counted(threads, "thread")}`;
}
