import type { ModelFacts, Seen } from "../../../engine/modelProtocol.js";
import { element, setText } from "../../../shell/element.js";
import { leftWords } from "./words.js";
import { t } from "../../../../texts/t.js";

/** The tokens. A click on one shows what the model predicts there. */
export class TokenStrip {
  readonly node: HTMLElement;
  readonly #list = element("div", { class: "token-strip", role: "group", "aria-label": t`Tokens` });
  readonly #hint = element("p", { class: "hint", "data-how-to": "" });
  readonly #left = element("p", { class: "notice", role: "status" });
  readonly #onChoose: (at: number) => void;

  constructor(onChoose: (at: number) => void) {
    this.#onChoose = onChoose;
    this.node = element("div", { class: "column" }, this.#hint, this.#list, this.#left);
  }

  show({ isCausal }: ModelFacts, seen: Seen): void {
    const hint = isCausal
      ? t`Click a token to see what the model expects after it.`
      : t`Click a token to see what the model expects in its place.`;
    setText(this.#hint, hint);
    setText(this.#left, leftWords(seen));
    this.#left.hidden = seen.left === 0;
    const focused = [...this.#list.children].indexOf(document.activeElement!);
    const nodes = seen.labels.map((label, at) => {
      const node = element("button", { type: "button", translate: "no", title: t`token ${seen.tokens[at]!}` }, label);
      node.ariaPressed = String(at === seen.at);
      node.onclick = () => this.#onChoose(at);
      return node;
    });
    this.#list.replaceChildren(...nodes);
    nodes[focused]?.focus();
  }
}
