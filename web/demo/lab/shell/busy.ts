import type { Progress } from "../engine/engine.js";
import { said, t } from "../../texts/t.js";
import { byId } from "./element.js";
import { grouped } from "./numbers.js";

/** The bar is not shown for anything shorter: nobody could read it. */
const PATIENCE_MS = 300;

/** The bar under the navigation. It says that something takes long, and the progress if that is known. */
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
    byId("busy-what").textContent = t`Computing`;
    byId("busy-amount").textContent = "";
  }

  progress({ what, done, total, unit }: Progress): void {
    byId("busy-what").textContent = said(what); // a worker says it in English
    byId("busy-amount").textContent = unit
      ? t`${grouped(Math.round(done))} of ${grouped(Math.round(total))} ${unit}`
      : "";
    this.#share.max = total;
    this.#share.value = done;
  }
}
