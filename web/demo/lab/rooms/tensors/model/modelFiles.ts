import { button } from "../../../shell/controls.js";
import { droppedFiles } from "../../../shell/drops.js";
import { card, element } from "../../../shell/element.js";
import type { ModelFacts } from "../../../engine/modelProtocol.js";
import { factWords, progressWords } from "./words.js";
import { t } from "../../../../texts/t.js";

/** Where files of a model are given, and how far they are read. */
export class ModelFiles {
  readonly node: HTMLElement;
  readonly #example: HTMLButtonElement;
  readonly #about = element("p", { class: "hint", role: "status" });
  readonly #progress = element("progress", { "aria-label": t`Reading the weights` });

  /** @param take - Gets the files; undefined: the example. */
  constructor(take: (files: readonly File[] | undefined) => void) {
    this.#example = button(t`Show the example`, () => take(undefined));
    const input = (id: string, words: string, attributes: Readonly<Record<string, string>>) => {
      const node = element("input", { type: "file", id, ...attributes });
      node.onchange = () => node.files?.length && take([...node.files]);
      return element("label", { for: id }, `${words} `, node);
    };
    const zone = element(
      "div",
      { class: "drop model-drop" },
      element(
        "b",
        {},
        t`Drop the folder of a model here: BERT, RoBERTa, GPT-2, Pythia, Llama, Qwen, Gemma, Phi-3 and others`,
      ),
      element("span", {}, t`config.json and .safetensors; with tokenizer.json it reads text. Files stay in this page.`),
      input("model-folder", t`A folder`, { webkitdirectory: "" }),
      input("model-files", t`or files`, { multiple: "" }),
    );
    zone.ondragover = (event) => event.preventDefault();
    zone.ondrop = (event) => {
      event.preventDefault();
      event.stopPropagation(); // the page takes files anywhere, and would take them twice
      if (event.dataTransfer) void droppedFiles(event.dataTransfer).then(take);
    };
    this.node = card(
      t`Your model`,
      element("div", { class: "shelf" }, zone, this.#progress, this.#about, this.#example),
    );
    this.#progress.hidden = true;
  }

  /** Says what is being read. */
  reads(isExample: boolean): void {
    this.#example.hidden = isExample;
    this.#progress.removeAttribute("value");
    this.#progress.hidden = false;
    this.#about.textContent = t`Opening the model …`;
  }

  progress(loaded: number, total: number): void {
    this.#progress.max = total;
    this.#progress.value = loaded;
    this.#about.textContent = progressWords(loaded, total);
  }

  /** Says what was read; undefined: it failed. */
  done(facts: ModelFacts | undefined, isExample: boolean): void {
    this.#progress.hidden = true;
    const what = t`Until then, an example: two layers without feed-forward blocks that the lab has trained to repeat letters, as the room Train does.`;
    this.#about.textContent = facts ? (isExample ? `${what} ` : "") + factWords(facts) : "";
  }
}
