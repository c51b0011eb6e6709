import type { Progress } from "../engine/engine.js";
import { byId } from "./element.js";

/** What takes less than this is over before a bar could be read. */
const PATIENCE_MS = 300;

/** The bar under the navigation: something takes long, and how far it is, if that is known. */
export class Busy {
  readonly #bar = byId("busy");
  readonly #share = byId<HTMLProgressElement>("busy-share");
  #timer: ReturnType<typeof setTimeout> | undefined;

  calls(open: number): void {
    if (open > 0) {
      this.#timer ??= setTimeout(() => (this.#bar.hidden = false), PATIENCE_MS);
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#bar.hidden = true;
    this.#share.removeAttribute("value");
    byId("busy-what").textContent = "Computing";
    byId("busy-amount").textContent = "";
  }

  progress({ what, done, total, unit }: Progress): void {
    byId("busy-what").textContent = what;
    byId("busy-amount").textContent = unit ? `${done.toFixed(0)} of ${total.toFixed(0)} ${unit}` : "";
    this.#share.max = total;
    this.#share.value = done;
  }
}
