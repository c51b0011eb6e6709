import { choices } from "../../shell/controls.js";
import { element, withIndices } from "../../shell/element.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import { ofSource, type fields, type Settings } from "./settings.js";
import type { Source } from "./source.js";
import { sourcePicture } from "./sourcePicture.js";
import { namedWords, sourceWords } from "./sourceWords.js";
import type { Inputs } from "./steps.js";

const NAMES = { words: t`words`, series: t`days of a time series`, image: t`patches of an image` };

/** What the rows of X stand for: the visitor chooses, and sees it drawn. */
export class SourcePanel {
  readonly node: HTMLElement;
  readonly #picture = element("figure", { class: "source" });
  readonly #words = element("p");

  constructor(state: State<typeof fields>) {
    const choice = choices(state, "source", t`X holds`, NAMES);
    // Its numbers and sizes come with a source, in one change.
    choice.addEventListener("change", ({ target }) => state.set(ofSource((target as HTMLInputElement).value as Source)), { capture: true }); // oxfmt-ignore
    const group = { class: "panel source-panel", role: "group", "aria-label": t`What X holds` };
    this.node = element("div", group, choice, this.#words, this.#picture);
  }

  show({ source, form, names: given }: Settings, { x, names, sizes }: Inputs): void {
    const picture = sourcePicture(source, x, names);
    this.#picture.hidden = picture.length === 0;
    this.#picture.replaceChildren(...picture);
    const words = [sourceWords(source, sizes, form), ...(given ? [namedWords()] : [])].join(" ");
    this.#words.replaceChildren(...withIndices(words));
  }
}
