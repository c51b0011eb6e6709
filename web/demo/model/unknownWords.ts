import { t } from "../texts/t.js";
import type { Encoding } from "./encoder.js";
import { readable } from "./names.js";

/** How many of them are named. */
const MOST_NAMES = 3;

/** What of a text the model does not know, and why: a sentence after a space. "" if it knows everything. */
export function unknownWords({ tokens, unknown }: Pick<Encoding, "tokens" | "unknown">): string {
  if (unknown.length === 0) return "";
  const all = [...new Set(unknown.map((token) => t`“${readable(tokens[token]!)}”`))];
  const names = all.slice(0, MOST_NAMES).join(", ");
  const named = all.length > MOST_NAMES ? t`${names} and ${all.length - MOST_NAMES} more` : names;
  if (all.length === 1) return t` The model was trained on English. It does not know ${named}.`;
  return t` The model was trained on English. It does not know ${named}: it reads them all as the same unknown token.`;
}
