import { language } from "./language.js";
import type { Texts } from "./texts.js";
import { PERCENT } from "./percent.js";

type Value = string | number;

/** What the language says for each English text. English needs none, and so does a page that cannot load them. */
const texts: Texts =
  language === "de"
    ? await import("./de.js").then(
        ({ GERMAN }) => GERMAN,
        () => ({}),
      )
    : {};

/**
 * A text in the language of the page: t`${count} heads look at “${word}”`. The code says it in English. A file of another
 * language has the text with numbers for its values, "{0} heads look at “{1}”", and may put them elsewhere. What it lacks
 * stays English.
 */
export function t(english: TemplateStringsArray, ...values: readonly Value[]): string {
  return said(
    english.reduce((text, part, i) => `${text}{${i - 1}}${part}`),
    ...values,
  );
}

/** The same for a text that is put together, as a noun and its plural are: said("{0} tokens", 3). */
export function said(english: string, ...values: readonly Value[]): string {
  const text = (texts[english] ?? english).replaceAll(" %", PERCENT);
  return text.replace(/\{(\d+)\}/g, (_, place: string) => String(values[Number(place)]));
}
