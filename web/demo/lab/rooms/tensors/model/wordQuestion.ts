import type { ModelFacts, ModelOrder, Seen, WordStudy } from "../../../engine/modelProtocol.js";
import type { OwnModel } from "../../../engine/ownModel.js";

export interface QuestionEvents {
  /** More is known. */
  found(): void;
  failed(error: Error): void;
}

/** Which heads bring a word: one question at a time. */
export class WordQuestion {
  /** What is known; undefined: nothing is asked. */
  study: WordStudy | undefined;
  /** The word in writing. */
  label = "";
  /** The word, its place and the tokens that are asked about. */
  #asked = "";
  readonly #events: QuestionEvents;

  constructor(events: QuestionEvents) {
    this.#events = events;
  }

  /** Asks about the word of the order, unless that is asked already. Without a word, nothing is asked any more. */
  ask(model: OwnModel, order: ModelOrder, { layers, heads }: ModelFacts, { tokens, at, effect }: Seen): void {
    const candidate = effect.kind === "prediction" && effect.candidates.find(({ token }) => token === order.word);
    if (!candidate) return this.end(model);
    const { token: word, label } = candidate;
    const asked = [word, at, ...tokens].join(" ");
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.label = label;
    this.study = { word, layers, heads, all: NaN, without: [] };
    model.study(order, {
      found: (study) => {
        this.study = study;
        this.#events.found();
      },
      failed: (error) => {
        this.forget(); // so that it can be asked again
        this.#events.failed(error);
      },
    });
  }

  end(model: OwnModel): void {
    if (this.#asked !== "") model.endStudy();
    this.forget();
  }

  /** The model is closed. */
  forget(): void {
    this.study = undefined;
    this.#asked = "";
  }
}
