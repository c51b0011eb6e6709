import type { ModelPlan } from "headwise/models";

import type { Difference } from "../../../engine/difference.js";
import type { ChangeKind, HeadPlace, ModelFacts, Seen } from "../../../engine/modelProtocol.js";
import { HUB_HOST } from "../../../engine/hubModels.js";
import { OwnModel, type GivenModel } from "../../../engine/ownModel.js";
import { button, choices, lines, panel, slider } from "../../../shell/controls.js";
import { card, element, setHidden, setText } from "../../../shell/element.js";
import { placeName, placeOf } from "../../../shell/headPlace.js";
import { decimal } from "../../../shell/numbers.js";
import type { RoomView } from "../../../shell/room.js";
import { onThemeChange } from "../../../shell/themeChange.js";
import type { fields, Settings } from "../problem.js";
import { ChosenHead } from "./chosenHead.js";
import { EffectBars } from "./effectBars.js";
import { HabitList } from "./habitList.js";
import { HeadGrid } from "./headGrid.js";
import { isOnHub, ModelFiles } from "./modelFiles.js";
import { PlanCard } from "./planCard.js";
import { planFinding } from "./planWords.js";
import { changed, changesOf, isRandom, orderOf, readsText, textOf } from "./settings.js";
import { TokenStrip } from "./tokenStrip.js";
import { WordCard } from "./wordCard.js";
import { WordQuestion } from "./wordQuestion.js";
import { changesWords, finding, lookFor } from "./words.js";
import { t } from "../../../../texts/t.js";

/** A whole model: its files, what would be loaded, all its heads, and what happens when some are changed. */
export class ModelBoard {
  readonly node: HTMLElement;
  readonly #view: RoomView<typeof fields>;
  readonly #files: ModelFiles;
  readonly #plan: PlanCard;
  readonly #controls: HTMLElement;
  readonly #input: HTMLElement;
  readonly #text: HTMLElement;
  readonly #numbers: HTMLElement;
  readonly #tokens: TokenStrip;
  readonly #grid: HeadGrid;
  readonly #habits: HabitList;
  readonly #effect: EffectBars;
  readonly #question: WordQuestion;
  readonly #word: WordCard;
  readonly #chosen: ChosenHead;
  readonly #hint = element("p", { class: "hint look-for", "aria-live": "polite" });
  readonly #changes = element("p", { class: "finding", role: "status" });
  readonly #undo = button(t`Leave all heads as they are`, () => this.#view.state.set({ changes: "" }));
  readonly #results: HTMLElement;

  #model: OwnModel | undefined;
  #key: { readonly given: GivenModel; readonly engine: string } | undefined;
  #facts: ModelFacts | undefined;
  #seen: Seen | undefined;
  readonly #ignoreTheme = onThemeChange(() => this.#draw());

  /** @param take - Called with a model that is given on the board. */
  constructor(view: RoomView<typeof fields>, take: (given: GivenModel) => void) {
    this.#view = view;
    const { state } = view;
    const choose = (place: HeadPlace) => state.set({ head: placeName(place) });
    const change = (place: HeadPlace, kind: Parameters<typeof changed>[2]) =>
      state.set({ changes: changed(state.values.changes, place, kind) });
    this.#files = new ModelFiles(take);
    this.#plan = new PlanCard((precision) => {
      this.#plan.hide();
      this.#view.finding(t`The model is being read.`);
      this.#files.reads(this.#key?.given);
      void this.#model?.load(precision);
      this.#view.redraw();
    });
    this.#input = choices(state, "input", t`It reads`, { text: t`text`, numbers: t`numbers of tokens` });
    this.#text = lines(state, "text", t`Text`);
    this.#numbers = lines(state, "numbers", t`Numbers of tokens (none: random ones that are repeated)`);
    this.#controls = panel(
      this.#input,
      this.#text,
      this.#numbers,
      slider(state, "threshold", t`A habit is told from a score of`, (value) => decimal(value, 1)),
    );
    this.#tokens = new TokenStrip((at) => state.set({ at: String(at + 1) }));
    const turn = (place: HeadPlace, isOn: boolean) => change(place, isOn ? undefined : "off");
    this.#grid = new HeadGrid(choose, turn);
    this.#effect = new EffectBars((word) => state.set({ word: word === undefined ? "" : String(word) }));
    this.#question = new WordQuestion({
      found: () => this.#drawWord(),
      failed: (error) => {
        this.#drawWord();
        view.fail(error);
      },
    });
    this.#word = new WordCard(turn);
    this.#habits = new HabitList(choose);
    this.#chosen = new ChosenHead((kind) => change(this.#chosenPlace(), kind));
    this.#results = element(
      "div",
      { class: "column" },
      card(t`The tokens`, this.#tokens.node),
      element(
        "div",
        { class: "run-columns model-heads" },
        card(t`Every head of every layer`, this.#changes, this.#undo, this.#grid.node, this.#hint),
        element("div", { class: "column" }, this.#effect.node, this.#word.node, this.#habits.node),
      ),
      this.#chosen.node,
    );
    this.node = element("div", { class: "column" }, this.#files.node, this.#plan.node, this.#controls, this.#results);
    this.#hide();
  }

  /** Shows these settings. Of another model it shows the plan first, until the visitor loads it; the example is loaded at once. */
  async show(settings: Settings, given: GivenModel): Promise<void> {
    const model = this.#modelOf(given);
    try {
      const plan = await model.planned;
      if (!model.opened && given) return this.#showPlan(model, plan, given);
      const facts = await (model.opened ?? model.load("as-stored"));
      this.#files.done(facts, given);
      this.#facts = facts;
      this.#showControls(settings, facts, given);
      const order = orderOf(settings, facts, given === undefined);
      const seen = await model.see(order);
      if (model !== this.#model) return;
      this.#seen = seen;
      this.#question.ask(model, order, facts, seen);
      this.#view.random(isRandom(settings, facts) ? t`The tokens are random ones, which are repeated.` : "");
      this.#draw();
    } catch (error) {
      if (model !== this.#model) return; // the visitor has gone on to another one
      this.#hide();
      // What was said is about other tokens, or not true any more.
      this.#view.finding("");
      this.#view.random("");
      this.#question.end(model);
      if (this.#facts === undefined) this.close();
      this.#files.done(this.#facts, given);
      throw error;
    }
  }

  #showPlan(model: OwnModel, plan: ModelPlan, given: GivenModel): void {
    if (model !== this.#model) return;
    this.#files.done(undefined, given);
    this.#plan.show(plan, isOnHub(given) ? HUB_HOST : undefined);
    this.#view.finding(planFinding(plan));
  }

  /** Ends the model. The next call of `show` opens one anew. */
  close(): void {
    const model = this.#model;
    this.#model = this.#key = this.#facts = this.#seen = undefined;
    this.#question.forget();
    model?.close();
  }

  /** For a visitor who leaves the room. */
  leave(): void {
    this.close();
    this.#ignoreTheme();
  }

  async check(settings: Settings, given: GivenModel): Promise<readonly Difference[]> {
    if (!this.#model || !this.#facts || !this.#seen)
      throw new Error(t`no model is shown whose weights could be compared`);
    const order = orderOf(settings, this.#facts, given === undefined);
    return this.#model.check(order, this.#chosenPlace());
  }

  #modelOf(given: GivenModel): OwnModel {
    const { backend, threads } = this.#view.engine.choice;
    const choice = { backend: backend === "webgpu" ? backend : "wasm", ...(threads !== undefined && { threads }) } as const; // oxfmt-ignore
    const engine = JSON.stringify(choice);
    if (this.#model && this.#key!.given === given && this.#key!.engine === engine) return this.#model;
    this.close();
    this.#hide();
    this.#plan.hide();
    this.#key = { given, engine };
    this.#view.finding(t`The model is being read.`);
    this.#view.random("");
    this.#files.reads(given);
    this.#model = new OwnModel(given, choice, (loaded, total) => this.#files.progress(loaded, total));
    return this.#model;
  }

  #showControls(settings: Settings, facts: ModelFacts, given: GivenModel): void {
    this.#controls.hidden = false;
    this.#input.hidden = !facts.hasTokenizer;
    this.#text.hidden = !readsText(settings, facts);
    this.#numbers.hidden = readsText(settings, facts);
    this.#text.querySelector("textarea")!.placeholder = textOf({ ...settings, text: "" }, facts, given === undefined);
  }

  #hide(): void {
    this.#seen = undefined;
    this.#results.hidden = true;
    this.#controls.hidden = this.#facts === undefined;
  }

  #draw(): void {
    const [facts, seen] = [this.#facts, this.#seen];
    if (!facts || !seen) return;
    const { changes: list, threshold } = this.#view.state.values;
    const changes = changesOf(list).filter(({ layer, head }) => layer <= facts.layers && head < facts.heads);
    const changeOf = this.#changeOf();
    const chosen = this.#chosenPlace();
    this.#results.hidden = false;
    this.#view.finding(finding(facts, seen, changes));
    const words = changes.length === 0 ? "" : `${changesWords(changes)}.`;
    setText(this.#changes, words.charAt(0).toUpperCase() + words.slice(1));
    setHidden(this.#undo, changes.length === 0);
    setText(this.#hint, lookFor(facts, seen, changes));
    this.#tokens.show(facts, seen);
    this.#grid.show(seen, { threshold, chosen, changeOf });
    this.#habits.show(seen.habits);
    this.#effect.show(facts, seen, changes.length > 0, this.#question.study?.word);
    this.#drawWord();
    this.#chosen.show(facts, seen, chosen, changeOf(chosen));
  }

  #drawWord(): void {
    const { study, label } = this.#question;
    if (!study) return this.#word.hide();
    const changeOf = this.#changeOf();
    this.#word.show(study, label, (place) => changeOf(place) === "off");
  }

  /** Says what a head is made to do now. */
  #changeOf(): (place: HeadPlace) => ChangeKind | undefined {
    const changes = changesOf(this.#view.state.values.changes);
    const kinds = new Map(changes.map((change) => [placeName(change), change.kind]));
    return (place) => kinds.get(placeName(place));
  }

  /** The head of the settings, else the surest induction head, else the one with the strongest habit. */
  #chosenPlace(): HeadPlace {
    const { layers, heads } = this.#facts!;
    const wanted = placeOf(this.#view.state.values.head);
    if (wanted && wanted.layer <= layers && wanted.head < heads) return wanted;
    const { habits } = this.#seen!;
    const { layer, head } = habits.find(({ kind }) => kind === "induction") ?? habits[0] ?? { layer: 1, head: 0 };
    return { layer, head };
  }
}
