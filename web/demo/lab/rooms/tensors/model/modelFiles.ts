import { button } from "../../../shell/controls.js";
import { dropZone } from "../../../shell/dropZone.js";
import { card, element, setHidden } from "../../../shell/element.js";
import { HUB_HOST, type HubModel } from "../../../engine/hubModels.js";
import type { ModelFacts } from "../../../engine/modelProtocol.js";
import type { GivenModel } from "../../../engine/ownModel.js";
import { HubName } from "./hubName.js";
import { factWords, progressWords } from "./words.js";
import { t } from "../../../../texts/t.js";

/** Where a model is given, by files or by name, and how far it is read. */
export class ModelFiles {
  readonly node: HTMLElement;
  readonly #example: HTMLButtonElement;
  readonly #about = element("p", { class: "hint", role: "status" });
  readonly #progress = element("progress", { "aria-label": t`Reading the weights` });

  readonly #hubName: HubName;

  /** @param take - Gets the model; undefined: the example. */
  constructor(take: (given: GivenModel) => void) {
    this.#hubName = new HubName((name) => take({ name }));
    this.#example = button(t`Show the example`, () => take(undefined));
    const zone = dropZone(
      t`Drop the folder of a model here: BERT, RoBERTa, GPT-2, Pythia, Llama, Qwen, Gemma, Phi-3 and others`,
      t`config.json and .safetensors; with tokenizer.json it reads text. Files stay in this page.`,
      [
        { id: "model-folder", label: t`Choose a folder`, attributes: { webkitdirectory: "" } },
        { id: "model-files", label: t`Choose files`, attributes: { multiple: "" } },
      ],
      take,
    );
    this.node = card(
      t`Your model`,
      element("div", { class: "shelf" }, zone, this.#hubName.node, this.#progress, this.#about, this.#example),
    );
    this.#progress.hidden = true;
  }

  /** Says what is being read. */
  reads(given: GivenModel): void {
    setHidden(this.#example, given === undefined);
    this.#progress.removeAttribute("value");
    this.#progress.hidden = false;
    this.#about.textContent = isOnHub(given) ? t`Asking ${HUB_HOST} for ${given.name} …` : t`Opening the model …`;
  }

  progress(loaded: number, total: number): void {
    this.#progress.max = total;
    this.#progress.value = loaded;
    this.#about.textContent = progressWords(loaded, total);
  }

  /** Says what was read; undefined: it failed. */
  done(facts: ModelFacts | undefined, given: GivenModel): void {
    const isExample = given === undefined;
    if (isOnHub(given)) void this.#hubName.showKept();
    this.#progress.hidden = true;
    const what = t`Until then, an example: two layers without feed-forward blocks that the lab has trained to repeat letters, as the room Train does. It knows the letters A to Z, a to z, Ä and Ö and the digits; whatever else you type, spaces too, is left out.`;
    this.#about.textContent = facts ? (isExample ? `${what} ` : "") + factWords(facts) : "";
  }
}

export function isOnHub(given: GivenModel): given is HubModel {
  return given !== undefined && "name" in given;
}
