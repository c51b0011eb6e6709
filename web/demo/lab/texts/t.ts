import { language } from "./language.js";
import type { Texts } from "./texts.js";

/** What a language says for each English text. English needs none. */
const texts: Texts = language === "de" ? (await import("./de.js")).GERMAN : {};

/**
 * A text in the language of the page: t`${count} heads look at “${word}”`. The code says it in English. A file of another
 * language has the text with numbers for its values, "{0} heads look at “{1}”", and may put them elsewhere. What it lacks
 * stays English.
 */
export function t(english: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  const said = texts[english.reduce((text, part, i) => `${text}{${i - 1}}${part}`)];
  if (said === undefined) return english.reduce((text, part, i) => `${text}${values[i - 1]!}${part}`);
  return said.replace(/\{(\d+)\}/g, (_, place: string) => String(values[Number(place)]));
}
