import { graphemes } from "../model/graphemes.js";

/** East Asian wide characters and emoji, which take two columns of a terminal. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u;
/** A sign that only changes the one before it, and has none. */
const COMBINING = /^\p{M}/u;

/** How many columns a text takes in a terminal. */
export function displayWidth(text: string): number {
  return graphemes(text).reduce((sum, sign) => sum + (WIDE.test(sign) ? 2 : COMBINING.test(sign) ? 0 : 1), 0);
}

export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** The text, cut to a width and with an ellipsis if it is longer. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  for (const sign of graphemes(text)) {
    if (displayWidth(kept + sign) >= width) break;
    kept += sign;
  }
  return `${kept}…`;
}
