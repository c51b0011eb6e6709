import "./room.css";

import numbers from "virtual:ahead";

import { MAX_TOKENS, type Encoding } from "../../../model/encoder.js";
import { unpacked, type PageNumbers } from "../../../model/packed.js";
import { difference, type Difference } from "../../engine/difference.js";
import { lines, panel, toggle } from "../../shell/controls.js";
import { element, folded } from "../../shell/element.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { t } from "../../../texts/t.js";
import { BeforeAfter } from "./beforeAfter.js";
import { SimilarityBoard } from "./board.js";
import { chips } from "./chips.js";
import { Closer } from "./closer.js";
import { compute, type Computed } from "./compute.js";
import { Directions } from "./directions.js";
import { Figure } from "./figure.js";
import { HabitsCard } from "./habits.js";
import { Interventions } from "./interventions.js";
import { fields, gainsOf, hiddenOf, type Settings } from "./settings.js";
import { snippet } from "./snippet.js";
import { finding, linksInWords, storageNote, question, sentencesRead, tokensRead } from "./words.js";

const LINKS_SHOWN = 5;

export const room = makeRoom(fields, open);

const { encodings: packed, storage } = numbers as PageNumbers;
/** The encodings that the build has computed, so that the first picture needs no model. */
const first = packed.map((encoding) => ({ positions: encoding.positions, encoding: unpacked(encoding) }));

function firstEncoding(text: string, positions: boolean): Encoding | undefined {
  return first.find((each) => each.positions === positions && each.encoding.text === text)?.encoding;
}

function open(view: RoomView<typeof fields>): void {
  const { stage } = view;
  const body = new Body(view);
  let seen: Computed | undefined;
  stage.append(...body.nodes);
  view.onDraw(async (settings) => {
    seen = await compute(settings, (texts, options) => view.engine.encode(texts, options), firstEncoding);
    view.title(question(seen));
    view.finding(finding(seen));
    body.show(seen, settings);
  });
  view.onCode((settings) => snippet(gainsOf(settings), hiddenOf(settings, MAX_TOKENS)));
  view.onCheck(async () => (seen ? check(view, seen) : []));
}

async function check({ engine }: RoomView<typeof fields>, { shown, options }: Computed): Promise<Difference[]> {
  const [exact] = await engine.encodeExactly([shown.text], options);
  const all = ({ layers }: Encoding) => layers.flatMap(({ probs }) => [...probs]);
  return [
    difference(t`probabilities of all heads`, all(shown), all(exact!)),
    difference(t`embedding`, shown.embedding, exact!.embedding),
  ];
}

/** The parts of the room, in their order: the picture first, then what can be changed, then what comes of it. */
class Body {
  readonly nodes: readonly HTMLElement[];
  readonly #view: RoomView<typeof fields>;
  readonly #figure: Figure;
  readonly #sentences = element("div", { class: "chips", role: "group", "aria-label": t`Sentence` });
  readonly #read = element("p", { class: "hint", "aria-live": "polite" }, t`The sentences are being read.`);
  readonly #habits: HabitsCard;
  readonly #directions: Directions;
  readonly #interventions: Interventions;
  readonly #beforeAfter = new BeforeAfter();
  readonly #closer: Closer;
  readonly #strongest = element("ol", { class: "links" });
  readonly #strongestCard = folded(t`Strongest links of this head`, this.#strongest);
  readonly #board = new SimilarityBoard();
  /** Empty until the first picture is drawn. */
  readonly #rest = element("div", { class: "sentence" });

  constructor(view: RoomView<typeof fields>) {
    const { state } = view;
    this.#view = view;
    this.#figure = new Figure(
      (from, to) => state.set({ from, to }),
      (head) => state.set({ head }),
    );
    this.#figure.node.hidden = this.#sentences.hidden = true;
    this.#habits = new HabitsCard((head) => state.set({ head }));
    this.#directions = new Directions(state);
    this.#interventions = new Interventions(state);
    this.#closer = new Closer(state);
    this.#board.node.classList.add("board");
    const text = element(
      "div",
      { class: "column texts" },
      lines(state, "texts", t`Sentences, one per line`, 3),
      this.#sentences,
      this.#read,
    );
    this.#rest.hidden = true;
    this.#rest.append(
      element("div", { class: "column" }, this.#habits.node, this.#directions.node),
      element("div", { class: "column" }, this.#interventions.node),
      this.#beforeAfter.node,
      this.#closer.node,
      element(
        "div",
        { class: "halves" },
        this.#strongestCard,
        folded(
          t`Similarity board`,
          element(
            "p",
            { class: "hint" },
            t`The cosine of the angle between two sentences’ embeddings: 1 is the same meaning, 0 is unrelated.`,
          ),
          this.#board.node,
        ),
      ),
      element("p", { class: "hint" }, storageNote(storage)),
    );
    const controls = panel(text, toggle(state, "positions", t`Tell the model where each word stands`));
    this.nodes = [this.#figure.node, controls, this.#rest];
  }

  show(seen: Computed, settings: Settings): void {
    const { encodings, chosen, given, shown } = seen;
    this.#figure.show(seen);
    const texts = encodings.map(({ text }) => text);
    this.#sentences.hidden = texts.length < 2;
    chips(this.#sentences, texts, chosen, (sentence) =>
      this.#view.state.set({ sentence, hidden: "", from: -1, to: -1 }),
    );
    this.#read.textContent = `${sentencesRead(given === 0 ? 0 : encodings.length, given)} ${tokensRead(shown)}`;
    this.#habits.show(seen);
    this.#directions.show(seen, settings);
    this.#interventions.show(seen);
    this.#beforeAfter.show(seen);
    this.#closer.show(seen, settings);
    const links = linksInWords(seen, LINKS_SHOWN);
    this.#strongest.replaceChildren(...links.map((link) => element("li", {}, link)));
    this.#strongestCard.hidden = links.length === 0;
    this.#board.show(encodings);
    this.#rest.hidden = shown.tokens.length === 0;
  }
}
