import { labelOf } from "./labels.js";
import { fill, make } from "./make.js";
import { texts } from "./texts.js";
import { numbered } from "./words.js";

export interface TokenColumnEvents {
  /** Called with the token under the pointer or the focus; undefined if there is none any more. */
  readonly onLook: (token: number | undefined) => void;
  readonly onSelect: (selected: readonly number[]) => void;
  /** Called if the visitor moves to the other column. */
  readonly onCross: (token: number) => void;
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -10,
  PageDown: 10,
  Home: -Infinity,
  End: Infinity,
};

/** A list of tokens. Several can be selected. One of them is in the tab order. */
export class TokenColumn {
  readonly element: HTMLElement;
  #options: readonly HTMLElement[] = [];
  #selected: readonly number[] = [];
  #active = 0;
  /** Where a selection with Shift starts. */
  #anchor = 0;

  constructor(
    readonly side: "query" | "key",
    readonly events: TokenColumnEvents,
  ) {
    this.element = make("ul", { class: side, role: "listbox", translate: "no", "aria-multiselectable": "true" });
    this.element.addEventListener("click", (event) => this.#click(event));
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("pointerover", (event) => {
      const token = this.#tokenOf(event);
      if (token !== undefined && event.pointerType !== "touch") this.events.onLook(token);
    });
    this.element.addEventListener("focusin", (event) => {
      const token = this.#tokenOf(event);
      if (token !== undefined) this.#activate(token);
      if ((event.target as HTMLElement).matches(":focus-visible")) this.events.onLook(token);
    });
    for (const type of ["pointerleave", "focusout"]) {
      this.element.addEventListener(type, () => this.events.onLook(undefined));
    }
  }

  /** Says its fixed words. */
  speak(): void {
    this.element.setAttribute("aria-label", this.side === "query" ? texts().queries : texts().keys);
  }

  show(tokens: readonly string[], count: number, selected: readonly number[]): void {
    if (count !== this.#options.length) {
      this.#options = Array.from({ length: count }, () => make("li", { role: "option" }));
      fill(this.element, this.#options);
      this.#active = this.#anchor = 0;
    }
    this.#selected = selected;
    const set = new Set(selected);
    this.#options.forEach((option, token) => {
      const text = labelOf(tokens, token);
      if (option.textContent !== text) option.textContent = text;
      if (tokens[token] === "") option.setAttribute("aria-label", texts().emptyToken);
      else option.removeAttribute("aria-label");
      if (tokens[token] === undefined) option.removeAttribute("title");
      else option.title = numbered(tokens, token);
      option.setAttribute("aria-selected", String(set.has(token)));
      option.tabIndex = token === this.#active ? 0 : -1;
    });
  }

  /** Marks the tokens that have a link to the token in focus. */
  mark(tokens: ReadonlySet<number>): void {
    this.#options.forEach((option, token) => option.classList.toggle("linked", tokens.has(token)));
  }

  focus(token: number): void {
    this.#options[Math.min(token, this.#options.length - 1)]?.focus();
  }

  #tokenOf(event: Event): number | undefined {
    const option = (event.target as Element).closest<HTMLElement>("[role=option]");
    const token = option ? this.#options.indexOf(option) : -1;
    return token < 0 ? undefined : token;
  }

  #activate(token: number): void {
    this.#options[this.#active]?.setAttribute("tabindex", "-1");
    this.#active = token;
    this.#options[token]!.tabIndex = 0;
  }

  #click(event: MouseEvent): void {
    const token = this.#tokenOf(event);
    if (token === undefined) return;
    if (event.shiftKey) this.#selectSpan(token);
    else this.#toggle(token);
  }

  #toggle(token: number): void {
    this.#anchor = token;
    const without = this.#selected.filter((other) => other !== token);
    this.events.onSelect(without.length < this.#selected.length ? without : [...without, token].sort((a, b) => a - b));
  }

  #selectSpan(to: number): void {
    const [first, last] = [Math.min(this.#anchor, to), Math.max(this.#anchor, to)];
    this.events.onSelect(Array.from({ length: last - first + 1 }, (_, i) => first + i));
  }

  #key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const step = STEPS[event.key];
    const across = this.side === "query" ? "ArrowRight" : "ArrowLeft";
    if (step !== undefined) {
      const next = Math.min(Math.max(this.#active + step, 0), this.#options.length - 1);
      this.focus(next);
      if (event.shiftKey) this.#selectSpan(next);
    } else if (event.key === " " || event.key === "Enter") this.#toggle(this.#active);
    else if (event.key === "Escape") this.events.onSelect([]);
    else if (event.key === across) this.events.onCross(this.#active);
    else return;
    event.preventDefault();
  }
}
