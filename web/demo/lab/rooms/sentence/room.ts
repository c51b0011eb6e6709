import "./room.css";

import { MAX_TOKENS, type EncodeOptions, type Encoding } from "../../../model/encoder.js";
import { movedByHead } from "../../../model/change.js";
import { headName, headsOf } from "../../../model/heads.js";
import { linkInWords, strongestLinks } from "../../../model/links.js";
import { tokenNames } from "../../../model/names.js";
import { rollout } from "../../../model/rollout.js";
import { similarity } from "../../../model/similarity.js";
import { difference, type Difference } from "../../engine/difference.js";
import { choices, lines, panel, toggle } from "../../shell/controls.js";
import { card, element } from "../../shell/element.js";
import { attentionHeads, attentionMap } from "../../shell/maps.js";
import { decimal } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { SimilarityBoard } from "./board.js";
import { Interventions } from "./interventions.js";
import { reading, twins } from "./reading.js";
import { fields, gainsOf, hiddenOf, textsOf, type Settings } from "./settings.js";
import { snippet } from "./snippet.js";

const LINKS_SHOWN = 5;

export const room = makeRoom(fields, open);

/** The encodings that are shown: all sentences unchanged, and the chosen one with the visitor's changes. */
interface Seen {
  readonly encodings: readonly Encoding[];
  readonly chosen: number;
  readonly changed: Encoding;
  readonly options: EncodeOptions;
}

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const picture = new Picture(view);
  let seen: Seen | undefined;
  stage.append(
    panel(
      lines(state, "texts", "Sentences, one per line", 3),
      toggle(state, "positions", "Tell the model where each word stands"),
    ),
    picture.node,
  );
  view.onDraw(async (settings) => {
    seen = await encode(view, settings);
    picture.show(seen, settings);
  });
  view.onCode((settings) => snippet(gainsOf(settings), hiddenOf(settings, MAX_TOKENS)));
  view.onCheck(async () => (seen ? check(view, seen) : []));
}

async function encode({ engine }: RoomView<typeof fields>, settings: Settings): Promise<Seen> {
  const { positions } = settings;
  const given = textsOf(settings);
  const texts = given.length > 0 ? given : [""];
  const encodings = await engine.encode(texts, { positions });
  const chosen = Math.min(settings.sentence, texts.length - 1);
  const gains = gainsOf(settings);
  const hiddenTokens = hiddenOf(settings, encodings[chosen]!.tokens.length);
  const options = { positions, headGain: [gains.slice(0, 4), gains.slice(4)], hiddenTokens };
  const isChanged = hiddenTokens.length > 0 || gains.some((gain) => gain !== 1);
  const [changed] = isChanged ? await engine.encode([texts[chosen]!], options) : [encodings[chosen]];
  return { encodings, chosen, changed: changed!, options };
}

async function check({ engine }: RoomView<typeof fields>, { changed, options }: Seen): Promise<Difference[]> {
  const [exact] = await engine.encodeExactly([changed.text], options);
  const all = ({ layers }: Encoding) => layers.flatMap(({ probs }) => [...probs]);
  return [
    difference("probabilities of all heads", all(changed), all(exact!)),
    difference("embedding", changed.embedding, exact!.embedding),
  ];
}

/** The picture of the room: one or two maps, the visitor's changes and their effect. */
class Picture {
  readonly node: HTMLElement;
  readonly #view: RoomView<typeof fields>;
  readonly #map = attentionMap("All heads of the sentence");
  readonly #otherMap = attentionMap("All heads of the other sentence");
  readonly #links = attentionHeads("Links between the tokens");
  readonly #maps = element("div", { class: "maps" });
  readonly #sentences = element("div", { class: "chips", role: "group", "aria-label": "Sentence" });
  readonly #others = element("div", { class: "chips", role: "group", "aria-label": "Compare with" });
  readonly #compared = element("p", { class: "hint" });
  readonly #title = element("h2");
  readonly #summary = element("p", { class: "hint", "aria-live": "polite" });
  readonly #twins = element("p", { class: "hint" });
  readonly #strongest = element("ol", { class: "links" });
  readonly #interventions: Interventions;
  readonly #effect = element("p", { class: "effect", role: "status" });
  readonly #board = new SimilarityBoard();

  constructor(view: RoomView<typeof fields>) {
    const { state } = view;
    this.#view = view;
    this.#interventions = new Interventions(state);
    const show = choices(state, "show", "Show", { rollout: "rollout of both layers", compare: "two sentences" });
    this.#map.addEventListener("headchange", ({ detail }) => state.set({ head: detail.head }));
    this.#otherMap.addEventListener("headchange", ({ detail }) => state.set({ head: detail.head }));
    this.node = element(
      "div",
      { class: "sentence" },
      element(
        "section",
        { class: "card wide" },
        this.#title,
        this.#sentences,
        element("div", { class: "row" }, show),
        this.#others,
        this.#maps,
        this.#compared,
        this.#summary,
        this.#twins,
      ),
      element(
        "div",
        { class: "column" },
        this.#interventions.node,
        card("What comes of it", this.#effect),
        card("Strongest links of this head", this.#strongest),
      ),
      card(
        "Similarity board",
        element(
          "p",
          { class: "hint" },
          "The cosine of the angle between two sentences’ embeddings: 1 is the same meaning, 0 is unrelated.",
        ),
        this.#board.node,
      ),
    );
    this.#board.node.classList.add("board");
  }

  show(seen: Seen, settings: Settings): void {
    const { encodings, chosen, changed } = seen;
    const original = encodings[chosen]!;
    const heads = headsOf(changed);
    const names = tokenNames(changed.tokens);
    const isRollout = settings.show === "rollout";
    this.#title.textContent = isRollout
      ? "Rollout: where each token’s information comes from"
      : "All heads of both layers";
    this.#choose(this.#sentences, encodings, chosen, (sentence) => this.#view.state.set({ sentence, hidden: "" }));
    this.#showMaps(seen, settings, names);
    this.#summary.textContent = summary(changed);
    this.#twins.textContent = twins(changed, names);
    const links = strongestLinks(heads[settings.head]!.probs, LINKS_SHOWN);
    this.#strongest.replaceChildren(...links.map((link) => element("li", {}, linkInWords(link, names))));
    this.#interventions.show(heads, names, movedByHead(original, changed));
    this.#effect.textContent = effect(seen);
    this.#board.show(encodings.with(chosen, changed));
  }

  #showMaps({ encodings, changed }: Seen, settings: Settings, names: readonly string[]): void {
    const isComparing = settings.show === "compare";
    const other = Math.min(settings.other, encodings.length - 1);
    this.#others.hidden = !isComparing;
    this.#compared.hidden = !isComparing;
    this.#maps.classList.toggle("two", isComparing);
    if (settings.show === "links") {
      fillLinks(this.#links, changed, names);
      return this.#place(this.#links);
    }
    fillMap(this.#map, changed, settings);
    if (!isComparing) return this.#place(this.#map);
    const compared = encodings[other]!;
    this.#choose(this.#others, encodings, other, (sentence) => this.#view.state.set({ other: sentence }));
    this.#compared.textContent = `Cosine of the two sentences: ${decimal(similarity(changed.embedding, compared.embedding))}. Both maps show the same head.`;
    fillMap(this.#otherMap, compared, settings);
    this.#place(this.#map, this.#otherMap);
  }

  /** Shows these maps. A map that is already shown is not moved, because it may have the focus. */
  #place(...maps: HTMLElement[]): void {
    const shown = [...this.#maps.children];
    if (maps.length !== shown.length || maps.some((map, i) => map !== shown[i])) this.#maps.replaceChildren(...maps);
  }

  #choose(group: HTMLElement, encodings: readonly Encoding[], chosen: number, onChoose: (index: number) => void): void {
    const texts = encodings.map(({ text }) => text);
    if ([...group.children].map(({ textContent }) => textContent).join("\n") !== texts.join("\n")) {
      group.replaceChildren(
        ...texts.map((text, index) => {
          const chip = element("button", { type: "button" }, text);
          chip.onclick = () => onChoose(index);
          return chip;
        }),
      );
    }
    [...group.children].forEach((chip, index) => (chip.ariaPressed = String(index === chosen)));
    if (group === this.#sentences) group.hidden = encodings.length < 2;
  }
}

/** All heads as one tensor. */
function headsTensor(encoding: Encoding, what: "probs" | "scores") {
  const heads = headsOf(encoding);
  const tokens = encoding.tokens.length;
  const data = new Float32Array(heads.length * tokens ** 2);
  heads.forEach((head, index) => data.set(head[what], index * tokens ** 2));
  return { data, shape: [heads.length, tokens, tokens] };
}

type Map = ReturnType<typeof attentionMap>;

function fillMap(map: Map, encoding: Encoding, { show, head }: Settings): void {
  const names = tokenNames(encoding.tokens);
  const tokens = names.length;
  map.tokens = names;
  map.kind = show === "scores" ? "scores" : "probs";
  if (show === "rollout") {
    map.headNames = ["rollout"];
    map.head = 0;
    map.probs = { data: rollout(encoding), shape: [1, tokens, tokens] };
    map.describe = ({ query, key, value }) =>
      `${(100 * (value ?? 0)).toFixed(0)} % of what is known at ${names[query]} came from ${names[key]}.`;
    return;
  }
  map.headNames = headsOf(encoding).map(headName);
  map.probs = headsTensor(encoding, show === "scores" ? "scores" : "probs");
  map.head = head;
  map.describe = (cell) => reading(encoding, names, cell.head, cell.query, cell.key);
}

function fillLinks(links: ReturnType<typeof attentionHeads>, encoding: Encoding, names: readonly string[]): void {
  links.tokens = names;
  links.headNames = headsOf(encoding).map(headName);
  links.probs = headsTensor(encoding, "probs");
}

function summary({ tokens, tokensLeftOut }: Encoding): string {
  const beyond = tokensLeftOut > 0 ? ` The model reads ${MAX_TOKENS}; the last ${tokensLeftOut} are left out.` : "";
  return `${tokens.length} tokens.${beyond} Rows look, columns are looked at.`;
}

function effect({ encodings, chosen, changed }: Seen): string {
  const original = encodings[chosen]!;
  if (changed === original) return "Nothing is changed: this is the model as it was trained.";
  const cosine = similarity(original.embedding, changed.embedding);
  const moved = movedByHead(original, changed);
  const most = moved.indexOf(Math.max(...moved));
  const name = headName(headsOf(changed)[most]!);
  const pattern =
    moved[most] === 0
      ? "No head attends differently."
      : `${name} moved most: ${(100 * moved[most]!).toFixed(0)} % of its attention.`;
  return `The sentence’s embedding turned to a cosine of ${decimal(cosine, 4)} with the original. ${pattern}`;
}
