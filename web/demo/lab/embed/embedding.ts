import { button } from "../shell/controls.js";
import { element } from "../shell/element.js";
import { copy } from "../share/copy.js";
import { t } from "../../texts/t.js";
import "./embedding.css";
import { elementMarkup, frameMarkup, type ShownFigure } from "./markup.js";

/** The HTML that puts a figure into another page, in two forms to copy. */
export class Embedding {
  readonly node: HTMLElement;
  readonly #forms: readonly (readonly [area: HTMLTextAreaElement, markup: (figure: ShownFigure) => string])[];

  /** @param say - Tells the visitor whether a form was copied. */
  constructor(say: (words: string) => void) {
    const script = copyable(t`A script and an element; its height follows its content`, say);
    const frame = copyable(t`A frame; it needs no script, and its height is fixed`, say);
    this.#forms = [
      [script.area, elementMarkup],
      [frame.area, frameMarkup],
    ];
    this.node = element(
      "details",
      { class: "embedding" },
      element("summary", {}, t`Put it into another page`),
      element("p", { class: "hint" }, t`Both forms have the settings that the room has now.`, ...hereOnly()),
      script.node,
      frame.node,
    );
  }

  show(figure: ShownFigure): void {
    for (const [area, markup] of this.#forms) area.value = markup(figure);
  }
}

/** What must be known where the lab runs on the visitor's own machine. */
function hereOnly(): readonly string[] {
  const isHere = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname);
  return isHere
    ? [t` This lab (${location.host}) runs on your machine: only you see its figures, and only while it runs. “npm run build:demo” makes a lab for a web server.`] // oxfmt-ignore
    : [];
}

/** A text with a button that copies it. */
function copyable(label: string, say: (words: string) => void) {
  const area = element("textarea", { readonly: "", rows: "5", spellcheck: "false", translate: "no" });
  const copier = button(t`Copy`, () => copy(area, say));
  copier.ariaLabel = t`Copy: ${label}`;
  return { node: element("div", { class: "copyable" }, element("label", {}, label, area), copier), area };
}
