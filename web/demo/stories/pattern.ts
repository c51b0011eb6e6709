import type { Form } from "./forms.js";
import { SHAPES, withDerived, type FactKind, type Features, type Shape } from "./shapes.js";

/** Who and what a sentence is about: features by role. */
export type Roles = Readonly<Record<string, Features>>;

/** A word that the story has decided, in the sentence that has it. */
export interface Decided {
  readonly at: number;
  readonly kind: FactKind;
  readonly shape: string;
}

interface Slot {
  readonly role: string;
  readonly shape: string;
  readonly kind: FactKind | undefined;
  /** The role is a list of such words: with commas, or without. */
  readonly list: "commas" | "bare" | undefined;
}

type Term = string | Slot;

const COMMA_LISTS = new Set(["good"]);
const LONGEST_LIST = 5;

/** The terms of a form: words and slots. */
export function termsOf({ pattern }: Form): readonly Term[] {
  return pattern
    .replace(/\{(\w)\.the\?\}/g, "the {$1.colour?colour} {$1.noun?thing}")
    .replace(/\{(\w)\.the\}/g, "the {$1.colour} {$1.noun?thing}")
    .replace(/\{(\w)\.new\}/g, "{$1.a} {$1.colour} {$1.noun}")
    .split(" ")
    .map(termOf);
}

function termOf(text: string): Term {
  const [, role, join, name = "name", mark] = /^\{(\w)(?:([.*])(\w+))?(!|\?\w+)?\}$/.exec(text) ?? [];
  if (role === undefined) return text;
  const usual = mark === "!" ? undefined : SHAPES[name]!.kind;
  const kind = mark?.startsWith("?") ? (mark.slice(1) as FactKind) : usual;
  const list = join === "*" ? (COMMA_LISTS.has(name) ? "commas" : "bare") : undefined;
  return { role, shape: name, kind, list };
}

/** Writes a sentence, and says which of its words are decided. */
export function written(terms: readonly Term[], roles: Roles): { words: string[]; decided: Decided[] } {
  const words: string[] = [];
  const decided: Decided[] = [];
  for (const term of terms) {
    if (typeof term === "string") words.push(term);
    else if (term.list) writeList(term, roles[term.role]!["items"]!.split(" "), words, decided);
    else {
      const { feature, words: forms } = SHAPES[term.shape]!;
      const word = forms[roles[term.role]![feature]!]!;
      if (term.kind) decided.push({ at: words.length, kind: term.kind, shape: term.shape });
      if (word !== "") words.push(word);
    }
  }
  return { words, decided };
}

function writeList({ list, kind, shape }: Slot, items: readonly string[], words: string[], decided: Decided[]): void {
  items.forEach((item, n) => {
    if (list === "commas" && n > 0) words.push(n === items.length - 1 ? "and" : ",");
    if (kind) decided.push({ at: words.length, kind, shape });
    words.push(item);
  });
}

/** Reads a sentence; undefined if it is none of this form. */
export function read(terms: readonly Term[], words: readonly string[]): Roles | undefined {
  const roles: Record<string, Record<string, string>> = {};
  let at = 0;
  for (const term of terms) {
    const length =
      typeof term === "string" ? Number(words[at] === term) || undefined : readSlot(term, words, at, roles);
    if (length === undefined) return undefined;
    at += length;
  }
  return at === words.length ? roles : undefined;
}

/** How many words the slot has; undefined if it does not fit. */
function readSlot(
  { role, shape, list }: Slot,
  words: readonly string[],
  at: number,
  roles: Record<string, Record<string, string>>,
): number | undefined {
  const features = (roles[role] ??= {});
  const { feature, words: forms } = SHAPES[shape]!;
  if (list) {
    const items = readList(list, forms, words, at);
    const length = list === "commas" ? 2 * items.length - 1 : items.length;
    return items.length > 1 && agrees(features, "items", items.join(" ")) ? length : undefined;
  }
  const word = words[at]!;
  const value = valueOf(forms, word);
  if (value !== undefined) return agrees(features, feature, value) ? 1 : undefined;
  const absent = valueOf(forms, "");
  return absent !== undefined && agrees(features, feature, absent) ? 0 : undefined;
}

function valueOf(forms: Shape["words"], word: string): string | undefined {
  return Object.keys(forms).find((value) => forms[value] === word);
}

function agrees(features: Record<string, string>, feature: string, value: string): boolean {
  const derived = withDerived({ [feature]: value });
  if (Object.entries(derived).some(([name, each]) => (features[name] ?? each) !== each)) return false;
  Object.assign(features, derived);
  return true;
}

function readList(list: "commas" | "bare", forms: Shape["words"], words: readonly string[], at: number): string[] {
  const items: string[] = [];
  let from = at;
  while (words[from]! in forms && items.length < LONGEST_LIST) {
    items.push(words[from]!);
    if (list === "commas") {
      const joint = words[from + 1];
      if (items.length > 1 && words[from - 1] === "and") break;
      if (joint !== "," && joint !== "and") break;
      if (!(words[from + 2]! in forms)) break;
      from += 2;
    } else from++;
  }
  return items;
}
