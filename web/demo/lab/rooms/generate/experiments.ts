import { tokensOf, vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import * as lexicon from "../../../stories/lexicon.js";
import { WORD } from "../../../train/words.js";
import { t } from "../../../texts/t.js";
import type { ExperimentOrder, ExperimentResult, Swap, SwapOrder } from "../../engine/experimentProtocol.js";
import { text, type Values } from "../../shell/field.js";
import { placeName, type HeadPlace } from "../../shell/headPlace.js";
import { grouped } from "../../shell/numbers.js";
import { MOST_SIGNS, type Settings } from "./settings.js";

/** With these the chances that are said are the model's own, and the bars show the same. */
const TAKING = { temperature: 1, topK: 40 } as const;

const SONG = "One day Anna met Leo at the beach. Anna sang: “Sun moon star rain.” Leo sang: “Sun moon";
const LIST = "Tom and Mary lived near the farm. Tom said to Mary: “Please buy milk, rice, tea and salt.” At the market Mary said: “Milk,"; // oxfmt-ignore
const QUESTION = "Rosa and Hugo lived near the library. Rosa had a grey scarf. Hugo had green socks. Rosa put the grey scarf under the chair. Hugo put the green socks under the bench. The teacher asked: “Where is the grey scarf?” “It is under the"; // oxfmt-ignore

/** What a visitor may write: the texts of the experiments, and the word that is swapped. */
export const trials = {
  song: text(SONG),
  from: text("moon"),
  to: text("star"),
  list: text(LIST),
  question: text(QUESTION),
};
export type Trials = Values<typeof trials>;

/** What to try with what a visitor has written, or why that cannot be tried. */
export function orderOf(
  kind: ExperimentOrder["kind"],
  written: Trials,
  config: DecoderConfig,
): ExperimentOrder | string {
  if (kind === "swap") return swapOf(written, config);
  const own = kind === "copying" ? written.list : written.question;
  return faultOf(own, config) ?? { kind, text: own, taking: TAKING };
}

/** The control is the same with a word of another kind. */
function swapOf({ song, from, to }: Trials, config: DecoderConfig): SwapOrder | string {
  const [old, other] = [knownWord(from, config), knownWord(to, config)];
  if (other === undefined) return t`The model does not know “${to}” as one word. It offers the words that it knows.`;
  if (old === other) return t`Both words are “${other}”: nothing is swapped.`;
  const swap = old === undefined ? undefined : swapped(song, old, other);
  const fault = faultOf(swap?.text ?? song, config);
  if (fault !== undefined) return fault;
  if (swap === undefined) return t`“${from}” is no word of the text that the model knows.`;
  const control = controlOf(song, swap);
  return control
    ? { kind: "swap", text: song, taking: TAKING, swap, control }
    : t`The text has no other word for the control: a name, a place, a colour or a thing.`;
}

function faultOf(whole: string, config: DecoderConfig): string | undefined {
  if (whole.length > MOST_SIGNS)
    return t`The text has ${grouped(whole.length)} signs. At most ${grouped(MOST_SIGNS)} are read.`;
  const isEmpty = tokensOf(whole, config).length === tokensOf("", config).length;
  return isEmpty ? t`Nothing of this text can be read.` : undefined;
}

/** A word as the vocabulary writes it; undefined if it is none, or more than one. */
function knownWord(word: string, config: DecoderConfig): string | undefined {
  const vocabulary = vocabularyOf(config);
  const [id, ...more] = vocabulary.ids(word);
  const isOne = id !== undefined && more.length === 0 && vocabulary.unknown(word).length === 0;
  const name = isOne ? vocabulary.tokens[id]! : "";
  return name.match(WORD) ? name : undefined;
}

/** The latest place of a word gets another one; undefined if the text does not have the word. */
function swapped(whole: string, from: string, to: string): Swap | undefined {
  const place = [...whole.matchAll(WORD)].findLast(([word]) => isSame(word, from));
  if (!place) return undefined;
  return { from, to, text: whole.slice(0, place.index) + to + whole.slice(place.index + place[0].length) };
}

/** The first word that the text has once, and that is of another kind than those of the swap, becomes one of its kind. */
function controlOf(whole: string, { from, to }: Swap): Swap | undefined {
  const words = [...whole.matchAll(WORD)].map(([word]) => word);
  const count = (word: string) => words.filter((each) => isSame(each, word)).length;
  // “One” also begins “one day”.
  const { NUMBERS: _, ...all } = lexicon;
  const kinds: readonly (readonly string[])[] = Object.values(all);
  const others = kinds.filter((kind) => !kind.some((name) => isSame(name, from) || isSame(name, to)));
  for (const word of words.filter((each) => count(each) === 1))
    for (const kind of others) {
      const name = kind.find((each) => isSame(each, word));
      const other = kind.findLast((each) => count(each) === 0);
      if (name !== undefined && other !== undefined) return swapped(whole, name, other);
    }
  return undefined;
}

const isSame = (word: string, other: string) => word.toLowerCase() === other.toLowerCase();

/** The settings that show what an experiment has found: its text, the heads that are off, and the head that colours the text. */
export function settingsOf(result: ExperimentResult): Partial<Settings> {
  const { order } = result;
  switch (result.kind) {
    case "swap":
      return { ...TAKING, begin: result.order.swap.text, off: "", head: placeName(result.head) };
    case "copying":
      return { ...TAKING, begin: order.text, off: namesOf(result.heads), head: placeName(result.heads[0]!) };
    case "weight":
      return { ...TAKING, begin: order.text, off: namesOf([result.needed]), head: placeName(result.spared) };
    case "tooFew":
      return { ...TAKING, begin: order.text, off: "", head: placeName(result.closest) };
    default:
      return result satisfies never;
  }
}

function namesOf(heads: readonly HeadPlace[]): string {
  return heads.map(placeName).sort().join(",");
}
