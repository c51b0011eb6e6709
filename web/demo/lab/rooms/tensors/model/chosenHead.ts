import { CHANGE_KINDS, type ChangeKind, type HeadPlace, type ModelFacts, type Seen } from "../../../engine/modelProtocol.js"; // oxfmt-ignore
import { element, folded, setText } from "../../../shell/element.js";
import { attentionMap } from "../../../shell/maps.js";
import { isSameHead } from "../../../shell/headPlace.js";
import { CHANGE_WORDS, cellWords, habitWords, headWords } from "./words.js";
import { t } from "../../../../texts/t.js";

/** The large map of a head, and what it is made to do. */
export class ChosenHead {
  readonly node: HTMLElement;
  readonly #title: HTMLElement;
  readonly #habits = element("p", { class: "finding" });
  readonly #map = attentionMap(t`Weights of the head`);
  readonly #inputs = new Map<ChangeKind | undefined, HTMLInputElement>();
  #labels = "";

  constructor(onChange: (kind: ChangeKind | undefined) => void) {
    const kinds = [undefined, ...CHANGE_KINDS] as const;
    const options = kinds.map((kind) => {
      const input = element("input", { type: "radio", name: "head-change", value: kind ?? "none" });
      input.onchange = () => onChange(kind);
      this.#inputs.set(kind, input);
      return element("label", {}, input, kind ? CHANGE_WORDS[kind] : t`is as it is`);
    });
    const change = element(
      "fieldset",
      { class: "control choices" },
      element("legend", {}, t`This head`),
      element("div", {}, ...options),
    );
    this.node = folded(t`The head`, this.#habits, change, this.#map);
    this.node.dataset["field"] = "head changes";
    this.#title = this.node.querySelector("h2")!;
  }

  show(
    { isCausal, heads }: ModelFacts,
    { probs, tokens, labels, habits }: Seen,
    place: HeadPlace,
    kind: ChangeKind | undefined,
  ): void {
    // oxfmt-ignore
    const words = headWords(place);
    setText(this.#title, words[0]!.toUpperCase() + words.slice(1));
    const own = habits.filter((habit) => isSameHead(habit, place)).map(habitWords);
    setText(this.#habits, own.length > 0 ? `${own.join(", ")}.` : t`No habit with a name reaches the threshold.`);
    for (const [each, input] of this.#inputs) input.checked = each === kind;
    if (this.#labels !== labels.join("\n")) {
      this.#labels = labels.join("\n");
      this.#map.causal = isCausal;
      this.#map.tokens = [...labels];
      this.#map.describe = ({ query, key, value, hidden }) =>
        hidden
          ? t`“${labels[key]!}” comes after “${labels[query]!}”: hidden.`
          : cellWords(labels, query, key, value ?? 0);
    }
    const layer = probs[place.layer - 1]!;
    const size = layer.length / heads;
    this.#map.probs = {
      data: layer.slice(place.head * size, (place.head + 1) * size),
      shape: [1, tokens.length, tokens.length],
    };
    this.#map.headNames = [words];
  }
}
