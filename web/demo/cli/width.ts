import { graphemes } from "../model/graphemes.js";

/** East Asian wide characters, emoji, and what U+FE0F makes an emoji: they take two columns of a terminal. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
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
