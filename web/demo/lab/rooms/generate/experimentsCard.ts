import { vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import { WORD } from "../../../train/words.js";
import type { ExperimentOrder, ExperimentResult } from "../../engine/experimentProtocol.js";
import { button, entry, lines, setIdle } from "../../shell/controls.js";
import { element, folded, setText } from "../../shell/element.js";
import { State } from "../../shell/state.js";
import { orderOf, trials } from "./experiments.js";
import { experimentWords } from "./experimentWords.js";
import { unreadWords } from "./words.js";
import { t } from "../../../texts/t.js";

type Kind = ExperimentOrder["kind"];

const NAMES: Readonly<Record<Kind, string>> = {
  swap: t`Swap one word`,
  copying: t`Switch off the heads that copy`,
  weight: t`Two heads look at the answer`,
};
const TEXTS = { swap: "song", copying: "list", weight: "question" } as const satisfies Readonly<Record<Kind, string>>;

/** Experiments with one click each, with these texts or the visitor's: what is seen, and beside it the control. */
export class ExperimentsCard {
  readonly node: HTMLElement;
  readonly #state = new State(trials);
  readonly #words = element("datalist", { id: "known-words" });
  readonly #experiments: readonly Experiment[];
  readonly #seen = element("p", { class: "finding", role: "status" });
  readonly #control = element("p", { class: "finding", role: "status" });
  #config: DecoderConfig | undefined;
  #isReading = false;

  constructor(onTry: (order: ExperimentOrder) => void) {
    this.#experiments = (["swap", "copying", "weight"] as const).map(
      (kind) => new Experiment(kind, this.#state, this.#words.id, (order) => this.#try(order, onTry)),
    );
    this.#state.onChange(() => this.#offer());
    const words = t`Each button changes one thing, and sets the room so that it can be seen above: the text, its heads, temperature 1 and top k 40. The control is the same with another word, or with other heads. The texts may be yours: end one before the word that you ask for.`;
    this.node = folded(
      t`Experiments`,
      element("p", { class: "hint" }, words),
      element("div", { class: "experiments" }, ...this.#experiments.map(({ node }) => node)),
      this.#words,
      element("div", { class: "halves" }, this.#seen, this.#control),
    );
  }

  /** Hides the card where no story can be read. */
  show(config: DecoderConfig): void {
    this.node.hidden = !config.words;
    if (!config.words || config === this.#config) return;
    this.#config = config;
    const known = vocabularyOf(config).tokens.filter((token) => token.match(WORD));
    this.#words.replaceChildren(...known.map((value) => element("option", { value })));
    this.#offer();
  }

  answer({ heads }: DecoderConfig, result: ExperimentResult): void {
    const { seen, control } = experimentWords(result, heads);
    this.clear();
    this.#say(seen, control);
  }

  clear(): void {
    this.#isReading = false;
    this.#offer();
    this.#say("", "");
  }

  #try(order: ExperimentOrder, onTry: (order: ExperimentOrder) => void): void {
    this.#isReading = true;
    this.#offer();
    this.#say(t`Reading …`, "");
    onTry(order);
  }

  #offer(): void {
    if (this.#config) for (const each of this.#experiments) each.offer(this.#config, this.#isReading);
  }

  #say(seen: string, control: string): void {
    setText(this.#seen, seen);
    setText(this.#control, control);
  }
}

/** The text of an experiment, what of it cannot be used, and the button that tries it. */
class Experiment {
  readonly node: HTMLElement;
  readonly #kind: Kind;
  readonly #state: State<typeof trials>;
  readonly #button: HTMLButtonElement;
  readonly #fault = element("p", { class: "hint", role: "status" });
  #order: ExperimentOrder | undefined;

  constructor(kind: Kind, state: State<typeof trials>, words: string, onTry: (order: ExperimentOrder) => void) {
    this.#kind = kind;
    this.#state = state;
    this.#button = button(NAMES[kind], () => this.#order && onTry(this.#order));
    const swap = [entry(state, "from", t`The word`, words), entry(state, "to", t`becomes`, words)];
    this.node = element(
      "div",
      { class: "experiment", role: "group", "aria-label": NAMES[kind] },
      lines(state, TEXTS[kind], t`Text`, 3),
      ...(kind === "swap" ? [element("div", { class: "row" }, ...swap)] : []),
      this.#fault,
      this.#button,
    );
  }

  /** Says of the text what cannot be used. While an experiment is read, no other one is tried. */
  offer(config: DecoderConfig, isReading: boolean): void {
    const { values } = this.#state;
    const order = orderOf(this.#kind, values, config);
    this.#order = typeof order === "string" ? undefined : order;
    setIdle(this.#button, isReading || !this.#order);
    setText(this.#fault, typeof order === "string" ? order : unreadWords(values[TEXTS[this.#kind]], config));
  }
}
