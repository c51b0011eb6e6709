import { headName, headsOf } from "../../../model/heads.js";
import { cardShare, element } from "../../shell/element.js";
import { attentionMap } from "../../shell/maps.js";
import { t } from "../../../texts/t.js";
import { hintMarkup, picture } from "./picture.js";
import { headsTensor } from "./maps.js";
import { namesOf, type Seen } from "./seen.js";
import { cellWords } from "./words.js";

const MOVES: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** The first picture of the room. Its cells can be pointed at, and reached with the arrow keys. */
export class Figure {
  readonly node = element("section", { class: "card picture", "aria-label": t`The picture` });
  readonly #onCell: (from: number, to: number) => void;
  readonly #onHead: (head: number) => void;
  /** The map of a sentence with too many tokens for numbers. */
  #longMap: ReturnType<typeof attentionMap> | undefined;
  #seen: Seen | undefined;
  #html = "";

  /** The functions are called with the cell and the head that the visitor has chosen. */
  constructor(onCell: (from: number, to: number) => void, onHead: (head: number) => void) {
    this.#onCell = onCell;
    this.#onHead = onHead;
    for (const event of ["pointerover", "focusin"] as const)
      this.node.addEventListener(event, ({ target }) => this.#read(target));
    this.node.addEventListener("pointerleave", () => this.#hint());
    this.node.addEventListener("click", ({ target }) => this.#choose(target));
    this.node.addEventListener("keydown", (event) => this.#key(event));
  }

  show(seen: Seen): void {
    this.#seen = seen;
    const html = picture(seen);
    this.node.hidden = html === "";
    if (html !== this.#html) this.#draw(html);
    this.#cells[0]?.setAttribute("tabindex", "0");
    const place = this.node.querySelector(".long-map");
    if (place) this.#showLong(place, seen);
  }

  #draw(html: string): void {
    this.#html = html;
    this.node.innerHTML = html;
    const heading = this.node.querySelector("h2");
    if (heading) this.node.prepend(cardShare(heading));
  }

  #showLong(place: Element, seen: Seen): void {
    if (!this.#longMap) {
      this.#longMap = attentionMap(t`Weights of the head`);
      this.#longMap.controls = false;
      this.#longMap.addEventListener("headchange", ({ detail }) => this.#onHead(detail.head));
    }
    const map = this.#longMap;
    map.tokens = namesOf(seen);
    map.headNames = headsOf(seen.shown).map(headName);
    map.probs = headsTensor(seen.shown, "probs");
    map.head = seen.head;
    map.describe = ({ query, key, head }) => cellWords({ ...seen, head }, query, key);
    if (map.parentElement !== place) place.replaceChildren(map);
  }

  get #cells(): HTMLTableCellElement[] {
    return [...this.node.querySelectorAll<HTMLTableCellElement>(".whole td[data-row]")];
  }

  #cellAt(target: EventTarget | null): HTMLTableCellElement | undefined {
    const cell = target instanceof Element ? target.closest<HTMLTableCellElement>(".whole td[data-row]") : null;
    return cell ?? undefined;
  }

  #read(target: EventTarget | null): void {
    const cell = this.#cellAt(target);
    if (cell && this.#seen) this.#say(cellWords(this.#seen, ...placeOf(cell)));
  }

  #choose(target: EventTarget | null): void {
    const cell = this.#cellAt(target);
    if (cell) this.#onCell(...placeOf(cell));
  }

  #key(event: KeyboardEvent): void {
    const cell = this.#cellAt(event.target);
    if (!cell) return;
    if (event.key === "Enter") return this.#onCell(...placeOf(cell));
    const step = MOVES[event.key];
    if (!step) return;
    event.preventDefault();
    const [row, column] = placeOf(cell);
    const next = this.node.querySelector<HTMLElement>(
      `.whole td[data-row="${row + step[0]}"][data-column="${column + step[1]}"]`,
    );
    if (!next) return;
    cell.removeAttribute("tabindex");
    next.tabIndex = 0;
    next.focus();
  }

  #hint(): void {
    const line = this.node.querySelector(".reading");
    if (line && this.#seen) line.innerHTML = hintMarkup(this.#seen);
  }

  #say(words: string): void {
    const line = this.node.querySelector(".reading");
    if (line && line.textContent !== words) line.textContent = words;
  }
}

function placeOf({ dataset }: HTMLElement): [row: number, column: number] {
  return [Number(dataset["row"]), Number(dataset["column"])];
}
