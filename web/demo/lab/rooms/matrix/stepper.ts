import { button, setIdle } from "../../shell/controls.js";
import { element } from "../../shell/element.js";
import { unfold } from "../../shell/folds.js";
import { t } from "../../../texts/t.js";

/** A stop of a phone's way through the room: its name, and what is to be seen there. */
export interface Stop {
  readonly name: string;
  readonly nodes: readonly HTMLElement[];
}

/**
 * A narrow screen shows one stop at a time: what belongs to no stop is always there, and what belongs to others is
 * "elsewhere". A wide screen and paper show everything, and no stepper.
 */
export class Stepper {
  readonly node: HTMLElement;
  readonly #stops: readonly Stop[];
  readonly #list: HTMLSelectElement;
  readonly #back: HTMLButtonElement;
  readonly #next: HTMLButtonElement;
  readonly #onStop: (stop: number) => void;
  #shown = 0;

  /** `onStop` is called with the number of a stop, from 1. */
  constructor(stops: readonly Stop[], onStop: (stop: number) => void) {
    const go = (stop: number) => {
      onStop(stop);
      this.node.scrollIntoView({ block: "start" });
    };
    this.#stops = stops;
    this.#onStop = onStop;
    this.#list = element(
      "select",
      { "aria-label": t`Step` },
      ...stops.map(({ name }, at) => element("option", { value: String(at + 1) }, t`${at + 1} of ${stops.length} · ${name}`)), // oxfmt-ignore
    );
    this.#list.onchange = () => go(Number(this.#list.value));
    this.#back = button(t`Back`, () => go(this.#shown - 1));
    this.#next = button(t`Next`, () => go(this.#shown + 1));
    const group = { class: "stepper", role: "group", "aria-label": t`Steps of the calculation` };
    this.node = element("div", group, this.#back, this.#list, this.#next);
  }

  /** Goes to the stop of a part of the room that is elsewhere. */
  leadTo(part: Node): void {
    const has = ({ nodes }: Stop) => nodes.some((node) => node.contains(part));
    const at = this.#stops.findIndex(has);
    if (at >= 0 && !has(this.#stops[this.#shown - 1]!)) this.#onStop(at + 1);
  }

  /** Shows a stop, from 1; the last one if there are fewer. */
  show(stop: number): void {
    this.#shown = Math.min(stop, this.#stops.length);
    const here = new Set(this.#stops[this.#shown - 1]!.nodes);
    for (const node of this.#stops.flatMap(({ nodes }) => nodes)) node.classList.toggle("elsewhere", !here.has(node));
    for (const node of here) unfold(node);
    this.#list.value = String(this.#shown);
    setIdle(this.#back, this.#shown === 1);
    setIdle(this.#next, this.#shown === this.#stops.length);
  }
}
