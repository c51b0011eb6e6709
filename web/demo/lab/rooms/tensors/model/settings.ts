import { CHANGE_KINDS, type ChangeKind, type HeadChange, type ModelFacts, type ModelOrder } from "../../../engine/modelProtocol.js"; // oxfmt-ignore
import { choice, number, text, type Values } from "../../../shell/field.js";
import { isSameHead, placeName, placeOf, type HeadPlace } from "../../../shell/headPlace.js";
import { t } from "../../../../texts/t.js";

/** What a visitor sets for a whole model. */
export const modelFields = {
  input: choice("text", ["text", "numbers"]),
  /** "": a text that suits the model. */
  text: text("", 2000),
  /** Numbers of tokens, as in "5 7 5 7". "": random ones that are repeated. */
  numbers: text("", 2000),
  /** The token at which the prediction is shown, from 1. "": the one that suits the model. */
  at: text("", 4),
  /** The head whose map is large, as in "2.1": layer and head, from 1. "": the one with the strongest habit. */
  head: text("", 8),
  /** What heads are made to do, as in "1.1:off,2.4:mean". */
  changes: text("", 4000),
  /** The number of the token whose heads are looked for. "": none. */
  word: text("", 9),
  /** The smallest score of a habit that is told. */
  threshold: number(0.5, { min: 0.1, max: 0.9, step: 0.1 }),
};
export type ModelSettings = Values<typeof modelFields>;

/** For the example: letters in an order of their own, each once, that are repeated. */
export const EXAMPLE_TEXT = "headwisLABheadwis";
const REPEATED_TEXT = "The cat sat on the mat. The cat sat on the";
const HIDDEN_TEXT = "The capital of France is ";

/** The text that a model reads. */
export function textOf({ text: given }: ModelSettings, { isCausal, type }: ModelFacts, isExample: boolean): string {
  if (given !== "") return given;
  if (isExample) return EXAMPLE_TEXT;
  return isCausal ? REPEATED_TEXT : `${HIDDEN_TEXT}${/roberta|mpnet/.test(type) ? "<mask>" : "[MASK]"}.`;
}

export function orderOf(settings: ModelSettings, facts: ModelFacts, isExample: boolean): ModelOrder {
  const { at, changes, threshold } = settings;
  const word = /^\d+$/.test(settings.word) ? Number(settings.word) : Infinity;
  return {
    input: readsText(settings, facts)
      ? { text: textOf(settings, facts, isExample) }
      : { numbers: numbersOf(settings.numbers) },
    at: /^[1-9]\d*$/.test(at) ? Number(at) - 1 : undefined,
    changes: changesOf(changes).filter(({ layer, head }) => layer <= facts.layers && head < facts.heads),
    word: word < facts.vocabulary ? word : undefined,
    threshold,
  };
}

export function readsText({ input }: ModelSettings, { hasTokenizer }: ModelFacts): boolean {
  return input === "text" && hasTokenizer;
}

/** Whether the tokens are random ones, because none are given. */
export function isRandom(settings: ModelSettings, facts: ModelFacts): boolean {
  return !readsText(settings, facts) && numbersOf(settings.numbers).length === 0;
}

/** Reads "5 7, 5"; what is no number of a token is an error. */
export function numbersOf(list: string): number[] {
  const words = list.split(/[\s,;]+/).filter((word) => word !== "");
  const wrong = words.find((word) => !/^\d{1,9}$/.test(word));
  if (wrong !== undefined)
    throw new Error(t`“${wrong}” is no number of a token: write numbers with spaces between them`);
  return words.map(Number);
}

/** Reads "1.1:off,2.4:mean". What is no change is left out; of two changes of a head the first one counts. */
export function changesOf(list: string): readonly HeadChange[] {
  const found: HeadChange[] = [];
  for (const item of list.split(",")) {
    const [name = "", word] = item.split(":");
    const place = placeOf(name);
    const kind = CHANGE_KINDS.find((known) => known === word?.trim());
    if (place && kind && !found.some((other) => isSameHead(other, place))) found.push({ ...place, kind });
  }
  return found;
}

/** The list with another change of this head; undefined: none. In the order of layers and heads. */
export function changed(list: string, place: HeadPlace, kind: ChangeKind | undefined): string {
  const others: HeadChange[] = changesOf(list).filter((change) => !isSameHead(change, place));
  return [...others, ...(kind ? [{ ...place, kind }] : [])]
    .sort((a, b) => a.layer - b.layer || a.head - b.head)
    .map((change) => `${placeName(change)}:${change.kind}`)
    .join(",");
}
