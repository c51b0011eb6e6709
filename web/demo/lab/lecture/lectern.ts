import { t } from "../../texts/t.js";
import { element } from "../shell/element.js";
import { flag, text } from "../shell/field.js";
import { State } from "../shell/state.js";
import type { LecturePanel } from "./lecturePanel.js";

/** The place in a lecture. It is part of every room's address, so no room has settings of these names. */
const lectureFields = {
  /** The lecture and its stop, as in "words-3"; empty without a lecture. */
  lecture: text("", 40),
  /** Whether the answer is shown. */
  answer: flag(false),
};

export type LectureState = State<typeof lectureFields>;

/** Where lectures begin. What they need is loaded with the first one. */
export class Lectern {
  readonly state: LectureState;
  #panel: Promise<LecturePanel> | undefined;

  constructor(query: URLSearchParams) {
    this.state = new State(lectureFields, query);
    this.state.onChange(() => void this.show());
  }

  /** Shows the stop of the address, or takes the panel away. */
  async show(): Promise<void> {
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
