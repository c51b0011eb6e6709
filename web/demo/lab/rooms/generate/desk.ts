import type { DecoderConfig } from "../../../generate/decoderFile.js";
import { candidates } from "../../../generate/sampling.js";
import type { Difference } from "../../engine/difference.js";
import type { ExperimentOrder, ExperimentResult } from "../../engine/experimentProtocol.js";
import type { Endless, Written } from "../../engine/generateProtocol.js";
import { Generating } from "../../engine/generating.js";
import { button, choices, lines, panel, slider } from "../../shell/controls.js";
import { card, element, folded, howTo } from "../../shell/element.js";
import { placeName, placeOf } from "../../shell/headPlace.js";
import { decimal } from "../../shell/numbers.js";
import type { RoomView } from "../../shell/room.js";
import { onThemeChange } from "../../shell/themeChange.js";
import { CacheTable } from "./cacheTable.js";
import { EndlessCard } from "./endlessCard.js";
import { settingsOf } from "./experiments.js";
import { ExperimentsCard } from "./experimentsCard.js";
import { HeadStrips } from "./headStrips.js";
import { JobsCard } from "./jobsCard.js";
import { NextBars } from "./nextBars.js";
import { PronounsCard } from "./pronounsCard.js";
import { BEGINNINGS, gainsOf, placesOf, ringOf, STORY_BEGINNINGS, switched, type fields, type Settings } from "./settings.js"; // oxfmt-ignore
import { TextView } from "./textView.js";
import { beginningWords, finding, modelWords, speedWords, unreadWords } from "./words.js";
import { t } from "../../../texts/t.js";

/** So many tokens are written at once. */
const STRETCH = 300;

/** What is written now, and everything that shows it. */
export class Desk {
  readonly nodes: readonly HTMLElement[];
  readonly #view: RoomView<typeof fields>;
  readonly #write = button(t`Write`, () => this.#toggle(), "primary");
  readonly #status = element("output", { class: "run-status" });
  readonly #text = new TextView();
  readonly #next: NextBars;
  readonly #strips: HeadStrips;
  readonly #table = new CacheTable();
  readonly #endless: EndlessCard;
  readonly #about = element("p", { class: "hint" });
  readonly #experiments = new ExperimentsCard((order) => this.#try(order));
  readonly #jobs = new JobsCard();
  readonly #pronouns = new PronounsCard(() => this.#askStories((model) => model.ask()));
  readonly #beginnings = element("div", { class: "panel", role: "group", "aria-label": t`Stories to go on from` });
  readonly #ignoreTheme = onThemeChange(() => this.#draw());

  #generating: Generating | undefined;
  /** The model whose beginning is there. */
  #model: Settings["model"] | undefined;
  #opened = "";
  #begun = "";
  #taking = "";
  #config: DecoderConfig | undefined;
  #threads = 1;
  #written: Written | undefined;
  #isWriting = false;
  /** So many tokens the ring keeps in which the endless text is read. */
  #kept = 0;
  #waiting: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(view: RoomView<typeof fields>) {
    const { state } = view;
    this.#view = view;
    this.#next = new NextBars((token) => this.#choose(token));
    this.#strips = new HeadStrips(
      (place) => state.set({ head: placeName(place) }),
      (place) => state.set({ off: switched(state.values.off, place) }),
    );
    this.#endless = new EndlessCard(() => {
      const { window, keep } = state.values;
      this.#kept = window + keep;
      this.#askStories((model) => model.readOn({ window, keepFirst: keep }));
    });
    state.onChange(() => this.#followModel());
    this.#followModel();
    for (const [name, begin] of Object.entries(STORY_BEGINNINGS))
      this.#beginnings.append(button(beginningWords(name), () => state.set({ begin })));
    const model = choices(state, "model", t`Model`, { text: t`stories`, sums: t`sums` });
    const begin = lines(state, "begin", t`Beginning`, 2);
    this.nodes = [
      panel(model, begin, this.#beginnings),
      element(
        "div",
        { class: "panel run-bar", role: "group", "aria-label": t`Writing` },
        this.#write,
        button(t`One token`, () => this.#writeOn(1)),
        button(t`Begin again`, () => this.#again()),
        slider(state, "temperature", t`Temperature`, (value) => decimal(value, 1)),
        slider(state, "topK", t`Top k`),
        slider(state, "seed", t`Seed`),
        this.#status,
      ),
      element("div", { class: "run-columns" }, this.#text.node, card(t`What may come next`, this.#next.node)),
      folded(
        t`Every head, for the newest token`,
        element(
          "p",
          { class: "hint" },
          t`A token is a word of a story, or a character of a sum. Each strip is the text from its first token to its newest, darker where the head looks. The chosen head colours the text above.`,
          howTo(t` Switch one off: the text is written anew, beside the one with all heads.`),
        ),
        this.#strips.node,
      ),
      this.#experiments.node,
      this.#jobs.node,
      this.#pronouns.node,
      folded(
        t`The cache of keys and values`,
        panel(
          choices(state, "dtype", t`Stored as`),
          choices(state, "ring", t`Kept`, { whole: t`all`, sinks: t`first and last`, window: t`last only` }),
          slider(state, "window", t`Last tokens`),
          slider(state, "keep", t`First tokens`),
        ),
        this.#table.node,
      ),
      this.#endless.node,
      folded(t`The model`, this.#about),
    ];
  }

  /** Opens the model of the settings if it is another one, and reads the beginning if something has changed. */
  async show(settings: Settings): Promise<void> {
    const { model } = settings;
    const { choice } = this.#view.engine;
    const opened = JSON.stringify([model, choice]);
    if (opened !== this.#opened || !this.#generating) this.#open(settings, opened);
    const begun = JSON.stringify([settings.begin, settings.seed, settings.dtype, ringOf(settings), settings.off]);
    const taking = JSON.stringify([settings.temperature, settings.topK]);
    if (begun !== this.#begun) {
      this.#begun = begun;
      this.#taking = taking;
      await this.#begin(settings);
    } else if (taking !== this.#taking) {
      this.#taking = taking;
      this.#generating!.take(settings);
    }
    this.#draw();
  }

  async check(): Promise<readonly Difference[]> {
    if (!this.#generating) throw new Error(t`the model was closed`);
    return this.#generating.check();
  }

  close(): void {
    this.#generating?.close();
    this.#ignoreTheme();
  }

  #open({ model }: Settings, opened: string): void {
    this.#generating?.close();
    this.#opened = opened;
    this.#begun = "";
    this.#config = this.#written = undefined;
    this.#clear();
    const { backend, threads } = this.#view.engine.choice;
    const engine = { backend: backend === "webgpu" ? backend : "wasm", ...(threads && { threads }) } as const;
    this.#generating = new Generating(model, engine, {
      opened: (config, count) => {
        this.#config = config;
        this.#threads = count;
      },
      written: (written, isDone) => this.#hear(written, isDone),
      endless: (endless, isDone) => this.#hearEndless(endless, isDone),
      asked: (study) => this.#config && this.#pronouns.answer(this.#config, study),
      tried: (result) => this.#hearTried(result),
      failed: (error) => this.#fail(error),
    });
  }

  /** Resolves when the beginning is read. */
  #begin(settings: Settings): Promise<void> {
    this.#isWriting = false;
    const { temperature, topK, seed, dtype, begin } = settings;
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#generating!.begin({
        ...{ temperature, topK, seed, dtype, beginning: begin },
        ring: ringOf(settings),
        gains: gainsOf(settings),
      });
    });
  }

  #hear(written: Written, isDone: boolean): void {
    this.#written = written;
    // The first answer is the beginning. The visitor may have asked already for what comes after it.
    if (isDone && !this.#waiting) this.#isWriting = false;
    this.#waiting?.resolve();
    this.#waiting = undefined;
    this.#draw();
  }

  #hearEndless(endless: Endless, isDone: boolean): void {
    if (this.#config) this.#endless.show(this.#config, endless, this.#kept, isDone);
  }

  #try(order: ExperimentOrder): void {
    this.#askStories((model) => {
      if (this.#isWriting) model.stop();
      model.try(order);
    });
  }

  /** Asks the model of stories. While the one of sums is loaded, the page still shows the cards of stories. */
  #askStories(ask: (model: Generating) => void): void {
    if (!this.#generating) return this.#again();
    if (this.#view.state.values.model === "text") return ask(this.#generating);
    this.#clear();
  }

  /** What was found goes, and what was asked will not be answered. */
  #clear(): void {
    this.#endless.clear();
    this.#experiments.clear();
    this.#pronouns.clear();
  }

  #hearTried(result: ExperimentResult): void {
    if (this.#config) this.#experiments.answer(this.#config, result);
    this.#view.state.set(settingsOf(result));
  }

  #fail(error: Error): void {
    this.#generating?.close();
    this.#generating = undefined;
    this.#clear();
    this.#opened = this.#begun = "";
    this.#isWriting = false;
    if (this.#waiting) this.#waiting.reject(error);
    else this.#view.fail(error);
    this.#waiting = undefined;
  }

  /** Another model has another beginning, unless it can read what is there: sums have no letters, stories have no sums. */
  #followModel(): void {
    const { model, begin } = this.#view.state.values;
    const isNew = this.#model !== undefined && this.#model !== model;
    this.#model = model;
    const isOthers = begin === BEGINNINGS[model === "sums" ? "text" : "sums"];
    const fits = /^[\d+=]*$/.test(begin) === (model === "sums");
    // What is typed or stands in the address stays, also if the model cannot read it: that is told.
    if (isOthers || (isNew && !fits)) this.#view.state.set({ begin: BEGINNINGS[model] });
  }

  #toggle(): void {
    if (this.#isWriting) this.#generating?.stop();
    else this.#writeOn(STRETCH);
  }

  #writeOn(count: number): void {
    if (!this.#generating) return this.#again();
    this.#isWriting = true;
    this.#generating.write(count);
    this.#draw();
  }

  /** While another model is loaded, the page still shows tokens of the one before. */
  #choose(token: number): void {
    if (this.#config) this.#generating?.choose(token);
  }

  #again(): void {
    this.#begun = "";
    this.#view.redraw();
  }

  #draw(): void {
    this.#write.textContent = this.#isWriting ? t`Stop` : t`Write`;
    const [config, written] = [this.#config, this.#written];
    if (!config || !written) return;
    const { values } = this.#view.state;
    const off = placesOf(values.off);
    const place = placeOf(values.head) ?? { layer: 1, head: 0 };
    const chosen = place.layer <= config.layers && place.head < config.heads ? place : { layer: 1, head: 0 };
    const next = candidates(written.scores, values);
    this.#view.finding(finding(config, written, next));
    this.#status.textContent = speedWords(config, written.speed, this.#threads);
    this.#text.show(config, written, chosen, off);
    this.#text.tell(unreadWords(values.begin, config));
    this.#next.show(config, next);
    this.#strips.show(config, written, { off, chosen });
    this.#table.show(written.caches, config);
    this.#endless.offer(config);
    this.#experiments.show(config);
    this.#jobs.show(config);
    this.#pronouns.show(config, written);
    this.#beginnings.hidden = !config.words;
    this.#about.textContent = modelWords(config);
  }
}
