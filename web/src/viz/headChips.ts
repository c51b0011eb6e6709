import { fill, make } from "./make.js";
import { texts } from "./texts.js";

/** A row of switches, one for each head in its colour. */
export class HeadChips {
  readonly element = make("div", { part: "heads", class: "chips", role: "group" });
  #chips: readonly HTMLButtonElement[] = [];

  /** @param onToggle - `isAlone` is true if the visitor wants only this head. */
  constructor(readonly onToggle: (head: number, isAlone: boolean) => void) {}

  /** Says its fixed words. */
  speak(): void {
    this.element.setAttribute("aria-label", texts().headSwitches);
    for (const chip of this.#chips) chip.title = texts().headSwitch;
  }

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
    const chip = make("button", { type: "button", title: texts().headSwitch }, make("i"), make("span"));
    chip.addEventListener("click", (event) => this.onToggle(head, event.shiftKey));
    chip.addEventListener("dblclick", () => this.onToggle(head, true));
    return chip;
  }
}
