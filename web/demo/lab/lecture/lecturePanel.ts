import { t } from "../../texts/t.js";
import { button } from "../shell/controls.js";
import { element, setHidden } from "../shell/element.js";
import { inWords } from "../shell/failure.js";
import { bringIntoView } from "../shell/scrolling.js";
import { BigScreen } from "./bigScreen.js";
import { drawnFigure } from "./drawn.js";
import type { LectureState } from "./lectureState.js";
import { stopAddress, type Stop } from "./lecture.js";
import "./lecture.css";
import { lectureAfter, placeOf, type Place } from "./lectures.js";

/** Here the arrow keys have another meaning. */
const OWN_ARROWS = "input, textarea, select, dialog, td, [role=region], attention-map, attention-heads";

const ARROWS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };
/** With the whole screen the remote of a presenter leads too. */
const PAGES: typeof ARROWS = { ...ARROWS, PageDown: 1, PageUp: -1 };

/** What a lecture says at a stop, its question with the hidden answer, and the way on. */
export class LecturePanel {
  readonly #node: HTMLElement;
  readonly #state: LectureState;
  readonly #big = new BigScreen(() => this.show());
  /** The stop that is shown. */
  #shown = "";
  /** Whether a handout is made, and what is said of it. */
  #isWorking = false;
  #said = "";

  constructor(node: HTMLElement, state: LectureState) {
    this.#node = node;
    this.#state = state;
    // Before the lesson, which has arrow keys too.
    document.addEventListener("keydown", (event) => this.#key(event), { capture: true });
  }

  /** Shows the stop of the address. The page scrolls to the figure of a new one. */
  show(): void {
    const name = this.#state.values.lecture;
    const place = placeOf(name);
    setHidden(this.#node, name === "");
    document.documentElement.toggleAttribute("data-lecture", name !== "");
    if (name === "") void this.#big.set(false);
    else this.#replace(place ? this.#stop(place) : this.#none(name));
    if (place && name !== this.#shown) void this.#scrollTo(name, place.lecture.stops[place.number - 1]!);
    this.#shown = name;
  }

  /** What had the focus gives it to what has come. */
  #replace(parts: readonly HTMLElement[]): void {
    const hadFocus = this.#node.contains(document.activeElement);
    this.#node.replaceChildren(...parts);
    const fresh = this.#node.querySelector<HTMLElement>(this.#state.values.answer ? ".lecture-answer" : "h2");
    if (hadFocus) fresh?.focus({ preventScroll: true });
  }

  #stop({ lecture, number }: Place): HTMLElement[] {
    const { title, words, quiz } = lecture.stops[number - 1]!;
    const place = t`${lecture.title}, ${number} of ${lecture.stops.length}`;
    return [
      element("div", { class: "lecture-head" }, element("span", {}, place), this.#tools({ lecture, number })),
      element("h2", { tabindex: "-1" }, title),
      ...(words ? [element("p", { class: "lecture-words" }, words)] : []),
      ...(quiz ? [element("p", { class: "lecture-question" }, quiz.question)] : []),
      element(
        "div",
        { class: "lecture-way" },
        ...(quiz ? [this.#answer(quiz.answer)] : []),
        ...this.#ways({ lecture, number }),
      ),
    ];
  }

  #tools(place: Place): HTMLElement {
    const said = element("span", { role: "status" }, this.#said);
    if (this.#big.isOn) return element("div", { class: "lecture-tools" }, said, button(t`Leave full screen`, () => this.#setBig(false))); // oxfmt-ignore
    const handout = button(t`Handout to print`, () => void this.#printed(place));
    handout.disabled = this.#isWorking;
    const big = button(t`Full screen`, () => this.#setBig(true));
    return element("div", { class: "lecture-tools" }, said, big, handout, this.#leave());
  }

  #leave(): HTMLElement {
    return button(t`Leave the lecture`, () => this.#state.set({ lecture: "", answer: false }));
  }

  #setBig(isOn: boolean): void {
    void this.#big.set(isOn);
    this.#shown = ""; // the figure lies elsewhere
    this.show();
  }

  #answer(answer: string): HTMLElement {
    const { answer: isShown } = this.#state.values;
    const said = element("p", { class: "lecture-answer", tabindex: "-1", role: "status" }, isShown ? answer : "");
    if (!isShown) said.append(button(t`Show the answer`, () => this.#state.set({ answer: true })));
    return said;
  }

  /** Links to the stops beside this one. After the last one comes the next lecture. */
  #ways({ lecture, number }: Place): HTMLElement[] {
    const link = (words: string, address: string, rel: string) => element("a", { href: address, rel }, words);
    const back = number > 1 ? [link(t`← Back`, stopAddress(lecture, number - 1), "prev")] : [];
    const following = lectureAfter(lecture);
    if (number < lecture.stops.length) return [...back, link(t`Next →`, stopAddress(lecture, number + 1), "next")];
    return following ? [...back, link(t`Next lecture: ${following.title}`, stopAddress(following, 1), "next")] : back;
  }

  #none(name: string): HTMLElement[] {
    return [element("p", {}, t`There is no stop “${name}” of a lecture here. A list of one’s own is kept by the browser that made it.`), this.#leave()]; // oxfmt-ignore
  }

  /** → shows the answer, then the next stop; ← the stop before. */
  #key(event: KeyboardEvent): void {
    const isTaken = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.defaultPrevented;
    if (!this.#node.checkVisibility() || isTaken || (event.target as Element).closest?.(OWN_ARROWS)) return;
    const by = (this.#big.isOn ? PAGES : ARROWS)[event.key];
    const place = placeOf(this.#state.values.lecture);
    if (!by || !place) return;
    event.preventDefault();
    const { quiz } = place.lecture.stops[place.number - 1]!;
    if (by > 0 && quiz && !this.#state.values.answer) this.#state.set({ answer: true });
    else this.#node.querySelector<HTMLElement>(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
  }

  async #printed(place: Place): Promise<void> {
    const say = (words: string, isWorking = false) => {
      this.#isWorking = isWorking;
      this.#said = words;
      this.show();
    };
    say(t`Drawing …`, true);
    try {
      const { showHandout } = await import("./handout.js");
      await showHandout(place, (done) => say(t`Drawing: figure ${done} of ${place.lecture.stops.length}`, true));
      say("");
    } catch (error) {
      say(t`It could not be drawn: ${inWords(error)}`);
    }
  }

  /** The lesson scrolls to its scenes itself: its diagram is always in view. A stop that has been left moves nothing. */
  async #scrollTo(name: string, { room, figure }: Stop): Promise<void> {
    const node = await drawnFigure(room, figure);
    if (node && name === this.#shown) bringIntoView(node);
  }
}
