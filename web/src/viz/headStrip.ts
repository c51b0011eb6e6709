import { fill, make } from "./make.js";
import { texts } from "./texts.js";

/** Small pictures of the heads, as radio buttons. */
export class HeadStrip {
  readonly element = make("div", { part: "heads", class: "strip", role: "radiogroup" });
  #buttons: readonly HTMLButtonElement[] = [];

  constructor(readonly onChoose: (head: number) => void) {
    this.element.addEventListener("keydown", (event) => this.#step(event));
  }

  /** Says its fixed words. */
  speak(): void {
    this.element.setAttribute("aria-label", texts().headChoice);
  }

  /** Shows a button for each name. Existing buttons are kept, so that the focus stays. */
  show(names: readonly string[], chosen: number): void {
    this.element.hidden = names.length < 2;
    if (names.length !== this.#buttons.length) {
      this.#buttons = names.map((_, head) => this.#button(head));
      fill(this.element, this.#buttons);
    }
    this.#buttons.forEach((button, head) => {
      button.lastElementChild!.textContent = names[head]!;
      button.setAttribute("aria-checked", String(head === chosen));
      button.tabIndex = head === chosen ? 0 : -1;
    });
  }

  canvas(head: number): HTMLCanvasElement {
    return this.#buttons[head]!.firstElementChild as HTMLCanvasElement;
  }

  #button(head: number): HTMLButtonElement {
    const picture = make("canvas", { width: 0, height: 0, "aria-hidden": "true" });
    const button = make("button", { type: "button", role: "radio" }, picture, make("span"));
    button.addEventListener("click", () => this.onChoose(head));
    return button;
  }

  #step(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = this.#buttons.indexOf(event.target as HTMLButtonElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const head = (at + step + this.#buttons.length) % this.#buttons.length;
    this.onChoose(head);
    this.#buttons[head]!.focus();
  }
}
