import "./room.css";

import numbers from "virtual:lesson";

import { unpackedAnatomy, type PackedAnatomy } from "../../../model/packedAnatomy.js";
import { afterMessages } from "../../engine/afterMessages.js";
import { difference, type Difference } from "../../engine/difference.js";
import type { Film } from "../../share/film.js";
import { counted } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { t } from "../../../texts/t.js";
import { fly, hideArrivals, isFlying, mayFly } from "./flights.js";
import { lessonOf, type Lesson } from "./lesson.js";
import { answer } from "./quiz.js";
import { optionsOf, read, sentenceOf, type Reading } from "./reading.js";
import { scenesOf } from "./scenes.js";
import { fields, SCENES, type Settings } from "./settings.js";
import { snippet } from "./snippet.js";
import { paneOf, type Pane } from "./panes.js";
import { cards, controls, stage } from "./stage.js";
import { columnChanges, flow } from "./flow.js";
import { Walk } from "./walk.js";
import { readWords, question } from "./words.js";

export const room = makeRoom(fields, open);

const [placed, unplaced] = (numbers as readonly PackedAnatomy[]).map(unpackedAnatomy);
/** What the build has computed, so that the first sentence needs no model. */
const FIRST: Reading = { placed: placed!, unplaced: unplaced! };

function open(view: RoomView<typeof fields>): void {
  const board = new Board(view);
  let reading: Reading = FIRST;
  view.onDraw(async (settings) => {
    const sentence = sentenceOf(settings);
    if (reading.placed.text !== sentence)
      reading = await read(sentence, (text, options) => view.engine.anatomy(text, options), FIRST);
    view.title(question(reading.placed));
    board.show(reading, settings);
  });
  view.onCode(() => snippet());
  view.onCheck(() => check(view, reading));
  view.onFilm(() => board.film());
  view.onClose(() => board.close());
}

/** Resolves when the next frame begins: what is changed then is in it. */
const frame = () => new Promise(requestAnimationFrame);

/** So many frames after a change a scene is drawn, and what travels in it has set off. */
const FRAMES_OF_A_SCENE = 13;

/** Resolves when a scene is drawn and all that travels in it has set off, with what travels. */
async function setOff(diagram: HTMLElement): Promise<Animation[]> {
  for (let frames = 0; frames < FRAMES_OF_A_SCENE || isFlying(diagram); frames++) await frame();
  const flights = diagram.getAnimations({ subtree: true }).filter((each) => !(each instanceof CSSTransition));
  return Promise.all(flights.map((each) => each.ready));
}

async function check({ engine }: RoomView<typeof fields>, { placed }: Reading): Promise<Difference[]> {
  const exact = await engine.anatomy(placed.text, optionsOf(true), true);
  const all = (name: "probs" | "mixed" | "shares", { layers }: typeof placed) =>
    layers.flatMap((layer) => [...layer[name]]);
  return [
    difference(t`probabilities of all heads`, all("probs", placed), all("probs", exact)),
    difference(t`shares of the heads`, all("shares", placed), all("shares", exact)),
  ];
}

/** The stage: what is drawn, and what the visitor does to it. */
class Board {
  readonly #view: RoomView<typeof fields>;
  readonly #walk: Walk;
  #seen: Lesson | undefined;
  #scene = 0;
  /** Whether the diagram and its picture are of another scene, word or head than the settings. */
  #isDiagramOld = false;
  /** A scene that was chosen by a button, a key or an address, until the page scrolls there. */
  #wanted: number | undefined;
  /** The last scene that came without any choice: by scrolling, or with the film. The page does not scroll for it. */
  #passed: number | undefined;

  constructor(view: RoomView<typeof fields>) {
    const { stage, state } = view;
    this.#view = view;
    this.#walk = new Walk(
      stage,
      (scene) => this.#pass(scene),
      (by) => this.#step(by),
    );
    state.onChange(() => this.#expect());
    stage.addEventListener("input", ({ target }) => this.#change(target as HTMLInputElement));
    stage.addEventListener("click", ({ target }) => this.#click(target as Element));
  }

  show(reading: Reading, settings: Settings): void {
    this.#showEmpty(reading.placed.tokens.length === 0, settings);
    if (reading.placed.tokens.length === 0) return;
    const isSame = this.#seen?.placed === reading.placed;
    const was = this.#seen;
    const seen = (this.#seen = lessonOf(reading.placed, reading.unplaced, settings));
    const [from, scene] = [this.#scene, settings.scene];
    this.#scene = scene;
    if (!was) return this.#begin(seen, scene);
    const isChanged = !isSame || was.head !== seen.head || was.word !== seen.word;
    const flies = from === scene - 1 && mayFly();
    this.#isDiagramOld ||= isChanged || from !== scene;
    if (isChanged) {
      this.#showWords(seen, scene);
      if (flies) hideArrivals(this.#part(".flow"), scene);
    }
    void this.#inFrames(seen, scene, flies);
  }

  /**
   * Draws a scene, each part in a frame of its own, so that no task is long. The parts are each column, the words beside the
   * picture, the picture, the rows of its table, the scrolling, and what travels. The markup is made between two frames. If
   * another drawing comes before the end, it draws these parts. Nothing is drawn in the task of the key itself: it changes the
   * address, and for that a browser styles anew what was changed before.
   */
  async #inFrames(seen: Lesson, scene: number, flies: boolean): Promise<void> {
    const isOver = () => this.#seen !== seen || !this.#view.stage.isConnected;
    await frame();
    await afterMessages();
    if (isOver()) return;
    const columns = this.#columnsOf(seen, scene, flies);
    const picture = this.#isDiagramOld ? paneOf(seen, scene) : undefined;
    let addRows: (() => void) | undefined;
    const parts = [
      ...columns,
      () => picture && this.#showNames(picture, scene),
      () => picture && (addRows = this.#showPicture(picture, scene, flies)),
      () => {
        addRows?.();
        this.#isDiagramOld = false;
      },
      () => this.#follow(scene),
      () => fly(this.#part(".scene-diagram"), flies ? scene : undefined),
    ];
    for (const draw of parts) {
      await frame();
      if (isOver()) return;
      draw();
    }
  }

  /** The scenes, one after another; none without words. */
  film(): Film | undefined {
    const seen = this.#seen;
    if (!seen || seen.placed.tokens.length === 0) return undefined;
    const { state } = this.#view;
    const before = state.values.scene;
    const scenes = scenesOf(seen);
    return {
      what: t`the lesson`,
      node: this.#part(".scene-diagram"),
      pictures: scenes.length,
      milliseconds: 3000,
      show: async (scene) => {
        this.#pass(scene + 1);
        return { caption: scenes[scene]!.title, motion: await setOff(this.#part(".scene-diagram")) };
      },
      end: () => this.#pass(before),
    };
  }

  /** Scrolls to a scene that the visitor has chosen, when it is drawn: the height of the diagram is known then. */
  #follow(scene: number): void {
    if (this.#wanted !== scene) return;
    this.#wanted = undefined;
    this.#walk.goTo(scene);
  }

  close(): void {
    this.#walk.end();
  }

  #begin(seen: Lesson, scene: number): void {
    this.#view.stage.innerHTML = stage(seen, scene);
    this.#walk.begin();
    this.#walk.tabTo(scene);
    this.#view.shareBy(this.#part("[data-share]"));
    if (scene > 1) this.#walk.goTo(scene, true);
    else if (mayFly()) void this.#leaveWords();
  }

  /** The first scene comes without a step: its vectors leave their words when the room is entered. */
  async #leaveWords(): Promise<void> {
    const diagram = this.#part(".scene-diagram");
    hideArrivals(diagram, 1);
    await frame();
    fly(diagram, 1);
  }

  /** Without words there is no diagram. The field for the sentence is there in any case. */
  #showEmpty(isEmpty: boolean, settings: Settings): void {
    if (isEmpty && !this.#seen) this.#begin((this.#seen = lessonOf(FIRST.placed, FIRST.unplaced, settings)), 1);
    const diagram = this.#view.stage.querySelector<HTMLElement>(".lesson");
    if (diagram) diagram.hidden = isEmpty;
    if (!isEmpty) return;
    this.#part(".lesson-controls [role=status]").textContent = t`${counted(0, "token")}. There is nothing to read yet.`;
    this.#showText(settings.text);
  }

  /** What depends on the sentence, the word or the head. The field that is typed into stays. */
  #showWords(seen: Lesson, scene: number): void {
    const fresh = document.createElement("template");
    fresh.innerHTML = controls(seen);
    for (const name of ["word", "head"]) {
      const [old, now] = [this.#part<HTMLSelectElement>(`select[data-field=${name}]`), fresh.content.querySelector<HTMLSelectElement>(`select[data-field=${name}]`)!]; // oxfmt-ignore
      if (old.innerHTML !== now.innerHTML) old.innerHTML = now.innerHTML;
      old.value = now.value;
    }
    this.#showText(seen.placed.text);
    this.#part(".lesson-controls [role=status]").textContent = readWords(seen.placed);
    this.#part(".scenes").outerHTML = cards(seen, scene);
    this.#walk.tabTo(scene);
    this.#part(".flow-place").innerHTML = flow(seen, scene);
  }

  #showText(text: string): void {
    const field = this.#part<HTMLInputElement>("input[data-field=text]");
    if (field.value !== text && document.activeElement !== field) field.value = text;
  }

  #columnsOf(seen: Lesson, scene: number, flies: boolean): readonly (() => void)[] {
    const table = this.#part(".flow");
    return columnChanges(table, seen, scene).map((change) => () => {
      change();
      if (flies) hideArrivals(table, scene);
    });
  }

  /** A large table comes without its rows. Returns what adds them. */
  #showPicture({ markup }: Pane, scene: number, flies: boolean): () => void {
    const place = this.#part(".picture-of-scene");
    place.innerHTML = markup;
    const [table, rows] = [place.querySelector(".looks"), place.querySelector(".looks tbody")];
    rows?.remove();
    if (flies) hideArrivals(place, scene);
    return () => rows && table!.append(rows);
  }

  #showNames({ title, note }: Pane, scene: number): void {
    this.#part(".pane h2").innerHTML = title;
    this.#part(".pane .hint").innerHTML = note;
    for (const dot of this.#view.stage.querySelectorAll<HTMLElement>(".scene-bar [data-scene]"))
      dot.ariaPressed = String(Number(dot.dataset["scene"]) === scene);
    for (const card of this.#view.stage.querySelectorAll<HTMLElement>(".scene"))
      card.ariaCurrent = Number(card.dataset["scene"]) === scene ? "step" : "false";
    this.#walk.tabTo(scene);
    this.#showStep(-1, scene === 1, scene);
    this.#showStep(1, scene === SCENES, scene);
  }

  /** A button that has the focus and leads nowhere gives it to the scene's own button. */
  #showStep(by: number, isEnd: boolean, scene: number): void {
    const step = this.#part<HTMLButtonElement>(`.scene-bar [data-step="${by}"]`);
    if (isEnd && step === document.activeElement)
      this.#part(`.scene-bar [data-scene="${scene}"]`).focus({ preventScroll: true });
    step.disabled = isEnd;
  }

  #step(by: number): void {
    this.#go(this.#view.state.values.scene + by);
  }

  #go(scene: number): void {
    if (scene < 1 || scene > SCENES) return;
    this.#want(scene);
    if (this.#scene === scene) this.#follow(scene);
    else this.#view.state.set({ scene });
  }

  #want(scene: number): void {
    this.#wanted = scene;
    this.#passed = undefined;
    this.#walk.expect(scene);
  }

  #pass(scene: number): void {
    this.#passed = scene;
    this.#view.state.set({ scene });
  }

  /** A new scene that was not passed was chosen: the page scrolls to it. */
  #expect(): void {
    const { scene } = this.#view.state.values;
    if (scene !== this.#scene && scene !== this.#passed) this.#want(scene);
  }

  #change({ dataset, value }: HTMLInputElement): void {
    const { state } = this.#view;
    if (dataset["field"] === "text") state.set({ text: value, word: -1 });
    else if (dataset["field"] === "word") state.set({ word: Number(value) });
    else if (dataset["field"] === "head") state.set({ head: Number(value) });
  }

  #click(target: Element): void {
    const button = target.closest<HTMLElement>("button");
    const row = target.closest<HTMLElement>(".flow tr[data-token]");
    if (row) this.#view.state.set({ word: Number(row.dataset["token"]) });
    if (!button) return;
    const { step, scene, answer: chosen } = button.dataset;
    if (step) this.#step(Number(step));
    else if (scene) this.#go(Number(scene));
    else if (chosen) this.#answer(button, Number(chosen));
  }

  #answer(button: HTMLElement, chosen: number): void {
    const card = button.closest<HTMLElement>(".scene")!;
    const { quiz } = scenesOf(this.#seen!)[Number(card.dataset["scene"]) - 1]!;
    answer(card, quiz!, chosen);
  }

  #part<Kind extends HTMLElement = HTMLElement>(selector: string): Kind {
    return this.#view.stage.querySelector<Kind>(selector)!;
  }
}
