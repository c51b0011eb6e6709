/** East Asian wide characters and emoji, which take two columns of a terminal. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u;
const COMBINING = /\p{M}/u;

/** How many columns a text takes in a terminal. */
export function displayWidth(text: string): number {
  return [...text].reduce((sum, symbol) => sum + (COMBINING.test(symbol) ? 0 : WIDE.test(symbol) ? 2 : 1), 0);
}

export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** The text, cut to a width and with an ellipsis if it is longer. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  for (const symbol of text) {
    if (displayWidth(kept + symbol) >= width) break;
    kept += symbol;
  }
  return `${kept}…`;
}
