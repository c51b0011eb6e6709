import type { Encoding } from "./encoder.js";
import { readable } from "./names.js";

/** How many of them are named. */
const MOST_NAMES = 3;

/** What of a text the model does not know, and why: a sentence after a space. "" if it knows everything. */
export function unknownWords({ tokens, unknown }: Pick<Encoding, "tokens" | "unknown">): string {
  if (unknown.length === 0) return "";
  const all = [...new Set(unknown.map((token) => `“${readable(tokens[token]!)}”`))];
  const rest = all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more` : "";
  const same = all.length > 1 ? ": it reads them all as the same unknown token" : "";
  return ` The model was trained on English. It does not know ${all.slice(0, MOST_NAMES).join(", ")}${rest}${same}.`;
}
