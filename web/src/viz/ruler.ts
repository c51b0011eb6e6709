import { canvasOf } from "./painting.js";

/** Measures texts in one font, in CSS pixels. It measures each text once. */
export class Ruler {
  readonly #context = canvasOf(1, 1);
  readonly #widths = new Map<string, number>();

  /** @param font - As CSS text. */
  constructor(readonly font: string) {
    this.#context.font = font;
  }

  readonly widthOf = (text: string): number => {
    let width = this.#widths.get(text);
    if (width === undefined) this.#widths.set(text, (width = this.#context.measureText(text).width));
    return width;
  };
}
