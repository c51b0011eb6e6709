import { REPEAT_CHARACTERS } from "../../../train/repeat.js";
import type { Difference } from "../../engine/difference.js";
import { Training, type TrainingEvent } from "../../engine/training.js";
import type { KeptPair, Picture } from "../../engine/trainProtocol.js";
import { toClipboard } from "../../shell/clipboard.js";
import { button } from "../../shell/controls.js";
import { card, element, folded, setText } from "../../shell/element.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { save } from "../../shell/save.js";
import { onThemeChange } from "../../shell/themeChange.js";
import type { RoomView } from "../../shell/room.js";
import type { Film } from "../../share/film.js";
import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { Charts } from "./charts.js";
import { Chosen } from "./chosen.js";
import { History, scoresOf } from "./history.js";
import { forgetTraining, keepTraining, keptTraining } from "./keptTrainings.js";
import { Log } from "./log.js";
import { BATCH, type fields, gainsOf, modelKey, placeName, placeOf, placesOf, switched, TOKENS, VOCABULARY, type Settings } from "./settings.js"; // oxfmt-ignore
import { Tiles } from "./tiles.js";
import { Scrubber } from "./scrubber.js";
import { finding, lookFor, speedWords } from "./words.js";

/** The training pauses by itself after so many steps. */
const ROUND = 2000;
/** The page draws at most so often. */
const DRAW_MS = 120;
/** While it trains, it is kept so often: a page that is loaded anew goes on from there. */
const KEEP_MS = 3000;

/** What is trained now, and everything that shows it. */
export class Board {
  readonly controls: HTMLElement;
  readonly cards: readonly HTMLElement[];
  readonly #view: RoomView<typeof fields>;
  readonly #train = button(t`Train`, () => this.#toggle(), "primary");
  readonly #status = element("output", { class: "run-status" });
  readonly #hint = element("p", { class: "hint look-for", "aria-live": "polite" });
  readonly #tiles: Tiles;
  readonly #scrubber: Scrubber;
  readonly #charts: Charts;
  readonly #log: Log;
  readonly #chosen = new Chosen();
  readonly #copied = element("span", { class: "hint", role: "status" });
  readonly #whole = this.#taking(t`Open this model in “Your model”`, () => this.#carryModel());
  readonly #keepers = [
    this.#taking(t`Save the weights`, () => this.#save()),
    this.#taking(t`Open this layer in “Your model”`, () => this.#carry()),
    this.#whole,
  ];

  #training: Training | undefined;
  #key = "";
  /** What the models of the training are made from. */
  #trained = "";
  #keptAt = 0;
  #isClosed = false;
  #gains = "";
  #history = new History();
  #picture: Picture | undefined;
  #checkpoints: readonly number[] = [];
  /** The checkpoint that the visitor looks at; undefined: the latest step. */
  #shown: number | undefined;
  #isRunning = false;
  #threads = 1;
  #stepTime: number | undefined;
  #first: { resolve(): void; reject(error: Error): void } | undefined;
  /** Waits until the answer to this question is drawn, and hears which step that is. */
  #awaited: { readonly asked: number | undefined; resolve(step: number): void; reject(error: Error): void } | undefined;
  #drawn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #ignoreTheme = onThemeChange(() => this.#draw());

  constructor(view: RoomView<typeof fields>) {
    this.#view = view;
    const { state } = view;
    this.#tiles = new Tiles(
      (place) => state.set({ head: placeName(place) }),
      (place) => this.#switch(place),
    );
    this.#scrubber = new Scrubber((step) => this.#show(step));
    this.#charts = new Charts((step) => this.#show(step));
    this.#log = new Log((step, place) => {
      if (place) state.set({ head: placeName(place) });
      this.#show(step);
    });
    this.#offer();
    this.controls = element(
      "div",
      { class: "panel run-bar", role: "group", "aria-label": t`Training` },
      this.#train,
      button(t`One step`, () => this.#run(1)),
      button(t`Start over`, () => this.#restart()),
      this.#status,
    );
    this.cards = [
      element(
        "div",
        { class: "run-columns" },
        card(
          t`Every head, on a sequence that is never learned from`,
          this.#scrubber.node,
          this.#tiles.node,
          this.#hint,
        ),
        element("div", { class: "column" }, card(t`How well they copy`, this.#charts.node), this.#log.node),
      ),
      this.#chosen.node,
      folded(
        t`Take it with you`,
        element("p", { class: "hint" }, t`The weights of the two layers at the step that is shown, by name.`),
        element(
          "div",
          { class: "row" },
          ...this.#keepers,
          button(t`Copy a link to these settings`, () => this.#copyLink()),
          this.#copied,
        ),
      ),
    ];
  }

  /** Shows these settings: begins anew if they need other models. */
  async show(settings: Settings): Promise<void> {
    const key = modelKey(settings) + JSON.stringify(this.#view.engine.choice);
    if (key !== this.#key) {
      this.#key = key;
      await this.#begin(settings);
    }
    const gains = JSON.stringify(gainsOf(settings));
    if (gains !== this.#gains) {
      this.#gains = gains;
      this.#training?.switchHeads(gainsOf(settings));
    }
    this.#draw();
  }

  /** The training is kept: when the visitor comes back, it goes on. */
  close(): void {
    this.#isClosed = true;
    const training = this.#training;
    void this.#keep().finally(() => training?.close());
    this.#ignoreTheme();
    clearTimeout(this.#timer);
  }

  async #keep(): Promise<void> {
    const [training, key, history, isRunning] = [this.#training, this.#trained, this.#history, this.#isRunning];
    this.#keptAt = performance.now();
    const pair = await training?.keep();
    if (pair && history === this.#history) keepTraining(key, { pair, history: history.kept, isRunning });
  }

  async check(): Promise<readonly Difference[]> {
    return this.#alive.check();
  }

  /** Goes on with the models of these settings, or makes new ones; resolves when their first picture is there. */
  async #begin(settings: Settings): Promise<void> {
    await this.#keep();
    this.#training?.close();
    this.#training = undefined;
    this.#offer();
    this.#trained = modelKey(settings);
    const kept = await keptTraining(this.#trained);
    if (this.#isClosed) return;
    this.#history = new History(kept?.history);
    await this.#open(settings, kept?.pair);
    if (!this.#training) return; // the visitor has started over
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (kept ? kept.isRunning : !isStill) this.#run(ROUND - (this.#step % ROUND));
  }

  #open(settings: Settings, kept: KeptPair | undefined): Promise<void> {
    this.#picture = this.#shown = this.#stepTime = undefined;
    this.#checkpoints = [];
    this.#isRunning = false;
    this.#gains = JSON.stringify(gainsOf(settings));
    const { backend, threads } = this.#view.engine.choice;
    const order = {
      settings: {
        heads: Number(settings.heads),
        width: Number(settings.width),
        position: settings.position,
        initialisation: settings.spread,
        seed: settings.seed,
        vocabulary: VOCABULARY,
        tokens: TOKENS,
        batch: BATCH,
        learningRate: settings.rate / 1000,
      },
      control: settings.control,
      gains: gainsOf(settings),
      kept,
      engine: { backend: backend === "webgpu" ? backend : "wasm", ...(threads !== undefined && { threads }) },
    } as const;
    return new Promise((resolve, reject) => {
      this.#first = { resolve, reject };
      this.#training = new Training(
        order,
        (event) => this.#hear(event),
        (error) => this.#fail(error),
      );
    });
  }

  #restart(): void {
    this.#training?.close();
    this.#training = undefined;
    this.#key = "";
    this.#first?.resolve(); // its picture will not come
    this.#first = undefined;
    this.#offer();
    void forgetTraining(this.#trained).then(() => this.#view.redraw());
  }

  #fail(error: Error): void {
    this.#isRunning = false;
    this.#key = "";
    this.#training?.close();
    this.#training = undefined;
    if (this.#first) this.#first.reject(error);
    else this.#view.fail(error);
    this.#first = undefined;
    this.#awaited?.reject(error);
    this.#awaited = undefined;
    this.#draw();
  }

  #hear(event: TrainingEvent): void {
    switch (event.kind) {
      case "ready":
        this.#threads = event.threads;
        break;
      case "steps":
        this.#history.add(event.steps);
        this.#stepTime = event.milliseconds / event.steps.length;
        if (performance.now() - this.#keptAt > KEEP_MS) void this.#keep();
        break;
      case "picture":
        if (event.isNew) this.#history.see(event.picture);
        this.#checkpoints = event.checkpoints;
        if (!event.isNew || this.#shown === undefined) this.#picture = event.picture;
        this.#first?.resolve();
        this.#first = undefined;
        if (!event.isNew && this.#awaited?.asked === event.asked) this.#answer(event.picture);
        break;
      case "paused":
        this.#isRunning = false;
        void this.#keep();
        break;
      default:
        event satisfies never;
    }
    this.#drawSoon();
  }

  #toggle(): void {
    if (!this.#isRunning) return this.#run(ROUND - (this.#step % ROUND));
    this.#training?.pause();
  }

  #run(steps: number): void {
    if (!this.#training) return this.#restart();
    this.#isRunning = true;
    this.#show(undefined);
    this.#training.run(steps);
  }

  #show(step: number | undefined): void {
    const isLatest = step === undefined || step >= this.#step;
    if (isLatest && this.#shown === undefined) return this.#draw();
    this.#shown = isLatest ? undefined : step;
    this.#training?.show(this.#shown);
    this.#draw();
  }

  /** The checkpoints, one after another; none before the first step. */
  film(): Film | undefined {
    const steps = [...this.#checkpoints];
    const [before, wasRunning] = [this.#shown, this.#isRunning];
    if (steps.length < 2) return undefined;
    return {
      what: t`the training`,
      node: this.#tiles.node,
      pictures: steps.length,
      milliseconds: 250,
      show: async (picture) => {
        const step = await this.#drawnAt(steps[picture]!);
        return { caption: t`step ${grouped(step)}`, motion: [] };
      },
      end: () => (wasRunning ? this.#run(ROUND - (this.#step % ROUND)) : this.#show(before)),
    };
  }

  get #alive(): Training {
    if (this.#training) return this.#training;
    throw new Error(t`the training has ended`);
  }

  /** Draws a checkpoint, or the one before it if it is no longer kept, and says which step it is. */
  async #drawnAt(step: number): Promise<number> {
    const training = this.#alive;
    training.pause();
    this.#shown = step >= this.#step ? undefined : step;
    return new Promise((resolve, reject) => {
      this.#awaited = { asked: this.#shown, resolve, reject };
      training.show(this.#shown);
    });
  }

  #answer({ step }: Picture): void {
    this.#draw();
    this.#awaited?.resolve(step);
    this.#awaited = undefined;
  }

  #switch(place: HeadPlace): void {
    const { off, heads } = this.#view.state.values;
    const next = switched(off, place, Number(heads));
    const isOn = !placesOf(next, Number(heads)).some((other) => placeName(other) === placeName(place));
    this.#history.moments.switched(this.#step, place, isOn);
    this.#view.state.set({ off: next });
  }

  get #step(): number {
    return this.#history.two.losses.length;
  }

  #drawSoon(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(
      () => requestAnimationFrame(() => this.#draw()),
      Math.max(0, this.#drawn + DRAW_MS - performance.now()),
    );
  }

  #draw(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#drawn = performance.now();
    setText(this.#train, this.#isRunning ? t`Pause` : t`Train`);
    const picture = this.#picture;
    this.#offer();
    if (!picture) return;
    const settings = this.#view.state.values;
    const off = placesOf(settings.off, picture.heads);
    const place = this.#chosenPlace(picture);
    const scores = scoresOf(picture);
    const { moments } = this.#history;
    const seen = picture.step === 0 && this.#step === 0 ? undefined : picture.copied;
    this.#view.finding(finding(picture.step, seen, picture.controlCopied, off));
    const status = `${t`step ${grouped(this.#step)}`} · ${speedWords(this.#stepTime, this.#threads)}`;
    setText(this.#status, status);
    setText(this.#hint, lookFor(this.#step, moments, settings.control));
    this.#tiles.show(picture, scores, { off, chosen: place });
    this.#scrubber.show(this.#checkpoints, picture.step);
    this.#charts.show(this.#history, picture.step);
    this.#log.show(moments.list);
    this.#chosen.show(picture, place, scores[place.layer]![place.head]!);
  }

  /** While a training begins, and when it has ended, there is nothing to take. */
  #offer(): void {
    const isThere = this.#picture !== undefined && this.#training !== undefined;
    const isRotary = this.#view.state.values.position === "rotary";
    for (const keeper of this.#keepers) keeper.disabled = !isThere || (isRotary && keeper === this.#whole);
    this.#whole.title = isRotary ? t`It takes a GPT-2, which has no rotary positions: train with learned ones.` : ""; // oxfmt-ignore
  }

  #chosenPlace({ heads, control }: Picture): HeadPlace {
    const chosen = placeOf(this.#view.state.values.head, heads) ?? this.#history.moments.newest;
    return chosen && (chosen.layer > 0 || control) ? chosen : { layer: 2, head: 0 };
  }

  /** A button for what is shown. */
  #taking(words: string, take: () => Promise<void>): HTMLButtonElement {
    return button(words, () => void take().catch((error: Error) => this.#view.fail(error)));
  }

  #copyLink(): void {
    toClipboard(location.href).then(
      () => (this.#copied.textContent = t`Copied.`),
      () => (this.#copied.textContent = t`This browser does not let the page copy.`),
    );
  }

  async #save(): Promise<void> {
    save(`headwise-step-${this.#picture?.step ?? 0}.safetensors`, await this.#alive.file());
  }

  async #carry(): Promise<void> {
    const { layer } = this.#chosenPlace(this.#picture!);
    const bytes = await this.#alive.file(Math.max(layer, 1));
    const file = new File([bytes], `layer-${Math.max(layer, 1)}.safetensors`);
    this.#view.carry("tensors", { mode: "attention", causal: "true" }, [file]);
  }

  /** Opens the whole model, and has it read the first three quarters of the sequence of the maps. */
  async #carryModel(): Promise<void> {
    const { tokens } = this.#picture!;
    const files = Object.entries(await this.#alive.model()).map(([name, bytes]) => new File([bytes], name));
    const text = REPEAT_CHARACTERS.text(tokens.subarray(0, 0.75 * tokens.length));
    this.#view.carry("tensors", { mode: "model", text }, files);
  }
}
