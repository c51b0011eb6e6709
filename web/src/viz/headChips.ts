import { fill, make } from "./make.js";

/** A row of switches, one for each head in its colour. */
export class HeadChips {
  readonly element = make("div", { part: "heads", class: "chips", role: "group", "aria-label": "Heads" });
  #chips: readonly HTMLButtonElement[] = [];

  /** @param onToggle - `isAlone` is true if the visitor wants only this head. */
  constructor(readonly onToggle: (head: number, isAlone: boolean) => void) {}

  show(names: readonly string[], colours: readonly string[], enabled: ReadonlySet<number>): void {
    if (names.length !== this.#chips.length) {
      this.#chips = names.map((_, head) => this.#chip(head));
      fill(this.element, this.#chips);
    }
    this.#chips.forEach((chip, head) => {
      chip.lastElementChild!.textContent = names[head]!;
      chip.style.setProperty("--head", colours[head]!);
      chip.setAttribute("aria-pressed", String(enabled.has(head)));
    });
  }

  #chip(head: number): HTMLButtonElement {
    const title = "Switch on or off; with Shift or a double click, this one alone, and again all";
    const chip = make("button", { type: "button", title }, make("i"), make("span"));
    chip.addEventListener("click", (event) => this.onToggle(head, event.shiftKey));
    chip.addEventListener("dblclick", () => this.onToggle(head, true));
    return chip;
  }
}
