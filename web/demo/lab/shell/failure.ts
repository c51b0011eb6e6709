import { t } from "../../texts/t.js";
import { adviceOf } from "./advice.js";
import { button } from "./controls.js";
import { byId, element } from "./element.js";

/** Says what did not work and why, and offers to try it again. */
export class Failure {
  readonly node = element("div", { class: "failure", role: "alert" });

  constructor() {
    this.clear();
  }

  show(error: unknown, again: () => void): void {
    const retry = button(t`Try again`, () => {
      this.clear();
      byId("main").focus({ preventScroll: true }); // the button is gone
      again();
    });
    this.node.replaceChildren(element("p", {}, t`This did not work: ${inWords(error)}`), retry);
    this.node.hidden = false;
  }

  clear(): void {
    this.node.hidden = true;
    this.node.replaceChildren();
  }
}

/** The message of an error and its hint, as sentences. */
export function inWords(error: unknown): string {
  if (!(error instanceof Error)) return ended(String(error));
  const hint = adviceOf(error);
  return [error.message, ...(hint ? [hint] : [])].map(ended).join(" ");
}

/** A text that ends like a sentence. */
function ended(text: string): string {
  const words = text.trim();
  return /[.!?…:]$/.test(words) ? words : `${words}.`;
}
