import { headName, headsOf, rowOf } from "../../../model/heads.js";
import { movedAttention } from "../../../model/change.js";
import { card, element, scrollable } from "../../shell/element.js";
import { attentionMap } from "../../shell/maps.js";
import { t } from "../../../texts/t.js";
import { MOST_NUMBERS, weightsTable } from "./picture.js";
import { isChanged, namesOf, type Seen } from "./seen.js";
import { changedLink, effect, mostMoved } from "./words.js";

/** The map of a head before the visitor's changes and after them, and their difference. */
export class BeforeAfter {
  readonly node: HTMLElement;
  readonly #effect = element("p", { class: "effect", role: "status" });
  readonly #title = element("h3");
  readonly #maps = element("div", { class: "before-after" });
  readonly #words = element("p", { class: "hint" });

  constructor() {
    this.node = card(t`Before and after`, this.#effect, this.#title, this.#maps, this.#words);
  }

  show(seen: Seen): void {
    this.#effect.textContent = effect(seen);
    const head = isChanged(seen) ? comparedHead(seen) : undefined;
    this.#title.hidden = this.#maps.hidden = this.#words.hidden = head === undefined;
    if (head === undefined) return this.#maps.replaceChildren();
    const [before, after] = [headsOf(seen.original)[head]!, headsOf(seen.shown)[head]!];
    this.#title.textContent = headName(before);
    this.#words.textContent = changedLink(seen, head);
    this.#maps.replaceChildren(
      column(t`Before`, before.probs, seen),
      column(t`After`, after.probs, seen),
      column(
        t`Difference, in percentage points`,
        after.probs.map((prob, i) => prob - before.probs[i]!),
        seen,
        true,
      ),
    );
  }
}

/** The head that is shown, if its attention has moved; otherwise the one that has moved most; none if none has. */
export function comparedHead(seen: Seen): number | undefined {
  const moved = (head: number) => movedAttention(headsOf(seen.original)[head]!, headsOf(seen.shown)[head]!);
  const most = mostMoved(seen);
  if (moved(seen.head) > 0) return seen.head;
  return moved(most) > 0 ? most : undefined;
}

function column(title: string, weights: Float32Array, seen: Seen, signed = false): HTMLElement {
  const names = namesOf(seen);
  const figure = element("figure", {}, element("figcaption", {}, title));
  if (names.length > MOST_NUMBERS) {
    const map = attentionMap(title);
    map.controls = false;
    map.tokens = names;
    map.kind = signed ? "scores" : "probs";
    map.probs = { data: weights, shape: [1, names.length, names.length] };
    figure.append(map);
    return figure;
  }
  const table = scrollable(title);
  const { unknown } = seen.shown;
  const rows = names.map((name, token) => ({ name, isUnknown: unknown.includes(token), weights: rowOf(weights, token) })); // oxfmt-ignore
  table.innerHTML = weightsTable({ names, unknown, title: t`${title}, in percent`, rows, signed });
  figure.append(table);
  return figure;
}
