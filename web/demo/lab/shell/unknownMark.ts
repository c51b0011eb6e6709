import { asMarkup } from "../../model/names.js";
import { t } from "../../texts/t.js";

/** The class of a word that the model does not know: it has a dotted line below. */
export const UNKNOWN_CLASS = "unknown-word";

export function unknownTitle(name: string): string {
  return t`${name}: the model does not know this. It reads it as its unknown token.`;
}

/** A token's name as HTML, marked if the model does not know it. */
export function nameMarkup(name: string, isUnknown: boolean): string {
  if (!isUnknown) return asMarkup(name);
  return `<span title="${asMarkup(unknownTitle(name))}" class="${UNKNOWN_CLASS}">${asMarkup(name)}</span>`;
}
