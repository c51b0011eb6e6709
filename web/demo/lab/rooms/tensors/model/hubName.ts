import { forgetModels, HUB_HOST, isModelName, keptModels } from "../../../engine/hubModels.js";
import { button } from "../../../shell/controls.js";
import { element, setText } from "../../../shell/element.js";
import { t } from "../../../../texts/t.js";

/** Small models that the package runs, and whose names people know: GPT-2, and relatives of it. */
const SUGGESTED = [
  "openai-community/gpt2",
  "distilbert/distilgpt2",
  "openai-community/gpt2-medium",
  "EleutherAI/pythia-70m",
  "HuggingFaceTB/SmolLM2-135M",
];

/** A model by its name on the hub. Nothing is asked there before the visitor presses the button. */
export class HubName {
  readonly node: HTMLElement;
  readonly #take: (name: string) => void;
  readonly #input = element("input", {
    ...{ type: "text", id: "hub-name", list: "hub-names", placeholder: SUGGESTED[0]!, maxlength: "96" },
    ...{ autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-describedby": "hub-about hub-trouble" },
  });
  readonly #names = element("datalist", { id: "hub-names" });
  readonly #trouble = element("p", { class: "failure", id: "hub-trouble", role: "alert" });
  readonly #kept = element("div", { class: "row hub-kept" });

  /** @param take - Called with the name of a model that the visitor asks for. */
  constructor(take: (name: string) => void) {
    this.#take = take;
    const about = t`Nothing is fetched before you press the button. It reads what the model is, and how large; then you decide about its weights.`;
    const form = element(
      "form",
      { class: "hub-name" },
      element("label", { for: "hub-name" }, t`Or by its name on ${HUB_HOST}`),
      element("div", { class: "row" }, this.#input, this.#names, submit()),
      element("p", { class: "hint", id: "hub-about" }, about),
      this.#trouble,
      this.#kept,
    );
    form.onsubmit = (event) => {
      event.preventDefault();
      this.#ask(this.#input.value.trim() || SUGGESTED[0]!);
    };
    this.node = form;
    this.#say("");
    this.#kept.hidden = true;
    this.#suggest(SUGGESTED);
    void this.showKept();
  }

  /** Offers the models of which this browser keeps weights. */
  async showKept(): Promise<void> {
    const names = await keptModels();
    this.#suggest([...new Set([...names, ...SUGGESTED])]);
    this.#kept.hidden = names.length === 0;
    this.#kept.replaceChildren(
      element("span", {}, t`Kept in this browser:`),
      ...names.map((name) => {
        const node = button(name, () => this.#ask(name));
        node.translate = false;
        return node;
      }),
      button(t`Forget what is kept`, () => void forgetModels().then(() => this.showKept())),
    );
  }

  #ask(name: string): void {
    this.#input.value = name;
    if (!isModelName(name))
      return this.#say(t`“${name}” is no name of a model: write OWNER/NAME, such as ${SUGGESTED[0]!}.`);
    this.#say("");
    this.#take(name);
  }

  #say(words: string): void {
    setText(this.#trouble, words);
    this.#trouble.hidden = words === "";
    this.#input.ariaInvalid = String(words !== "");
  }

  #suggest(names: readonly string[]): void {
    this.#names.replaceChildren(...names.map((value) => element("option", { value })));
  }
}

function submit(): HTMLButtonElement {
  return element("button", { type: "submit" }, t`Ask ${HUB_HOST} what it is (fetches less than 1 MB)`);
}
