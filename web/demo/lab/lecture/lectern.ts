import { isFigure } from "../embed/figurePage.js";
import { t } from "../../texts/t.js";
import { element } from "../shell/element.js";
import { State } from "../shell/state.js";
import type { LecturePanel } from "./lecturePanel.js";
import { lectureFields, type LectureState } from "./lectureState.js";

/** Where lectures begin. What they need is loaded with the first one. */
export class Lectern {
  readonly state: LectureState;
  #panel: Promise<LecturePanel> | undefined;

  constructor(query: URLSearchParams) {
    this.state = new State(lectureFields, query);
    this.state.onChange(() => void this.show());
  }

  /** Shows the stop of the address, or takes the panel away. A figure in another page is no lecture. */
  async show(): Promise<void> {
    if (isFigure) return;
    if (!this.#panel && this.state.values.lecture === "") return;
    this.#panel ??= import("./lecturePanel.js").then(({ LecturePanel }) => {
      const node = element("section", { id: "lecture", "aria-label": t`Lecture` });
      document.body.append(node);
      return new LecturePanel(node, this.state);
    });
    try {
      (await this.#panel).show();
    } catch {
      this.#panel = undefined; // the next stop tries again
    }
  }
}
