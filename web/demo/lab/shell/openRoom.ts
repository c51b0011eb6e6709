import type { Difference } from "../engine/difference.js";
import { EngineError, type Engine } from "../engine/engine.js";
import { DOORS, type Door } from "../rooms/rooms.js";
import { button } from "./controls.js";
import { element } from "./element.js";
import type { Fields, Values } from "./field.js";
import { latest } from "./latest.js";
import { milliseconds } from "./numbers.js";
import type { Room, RoomView } from "./room.js";
import { State } from "./state.js";

/** The open room, with the parts that all rooms have: heading, tools, error text, code. */
export class OpenRoom implements RoomView<Fields> {
  readonly id: string;
  readonly state: State<Fields>;
  readonly stage = element("div", { class: "stage" });
  readonly #engine: () => Engine;
  readonly #article: HTMLElement;
  readonly #title: HTMLElement;
  readonly #finding = element("p", { class: "main-finding", "aria-live": "polite" });
  readonly #failure = element("p", { class: "failure", role: "alert" });
  readonly #verdict = element("p", { class: "verdict", role: "status" });
  readonly #time = element("span", { class: "time" });
  readonly #tools = element("div", { class: "tools" });
  readonly #code = element("details", { class: "code" });
  readonly #closing: (() => void)[] = [];
  #draw: () => void = () => {};
  #engineName: string;

  constructor(
    main: HTMLElement,
    door: Door,
    room: Room,
    query: URLSearchParams,
    engine: () => Engine,
    engineName: string,
  ) {
    this.id = door.id;
    this.state = new State(room.fields, query);
    this.#engine = engine;
    this.#engineName = engineName;
    this.#failure.hidden = true;
    this.#code.hidden = true;
    this.#title = element("h1", {}, door.title);
    this.#article = element(
      "article",
      { class: "room", "data-room": door.id, "aria-busy": "true" },
      element("header", {}, this.#title, element("p", { class: "lede" }, door.lede), this.#finding),
      this.#failure,
      this.stage,
      ...(room.random ? [element("p", { class: "hint random" }, room.random)] : []),
      element("p", { class: "next" }, "Next: ", nextDoor(door.id)),
      element("footer", {}, this.#tools, this.#verdict, this.#code),
    );
    this.#tools.append(this.#time);
    main.replaceChildren(this.#article);
    room.open(this);
    this.state.onChange(() => (this.#verdict.textContent = ""));
  }

  get engine(): Engine {
    return this.#engine();
  }

  onDraw(draw: (values: Values<Fields>) => Promise<void>): void {
    const work = async () => {
      this.#article.ariaBusy = "true";
      await draw(this.state.values);
      this.#failure.hidden = true;
      this.#article.ariaBusy = "false";
    };
    this.#draw = latest(work, (error) => this.#fail(error));
    this.state.onChange(this.#draw);
    this.#draw();
  }

  title(words: string): void {
    if (this.#title.textContent !== words) this.#title.textContent = words;
  }

  finding(sentence: string): void {
    if (this.#finding.textContent !== sentence) this.#finding.textContent = sentence;
  }

  redraw(): void {
    this.#draw();
  }

  onCode(code: (values: Values<Fields>) => string): void {
    const text = element("code");
    const show = () => (text.textContent = code(this.state.values));
    const copy = button("Copy code", () => {
      show();
      this.#code.open = true;
      void navigator.clipboard.writeText(text.textContent).then(
        () => this.#say("Copied. It runs in Node and in a page, with headwise installed."),
        () => this.#say("This browser does not let the page copy; the code stands below."),
      );
    });
    this.#code.append(element("summary", {}, "Code"), element("pre", { tabindex: "0", "aria-label": "Code" }, text));
    this.#code.hidden = false;
    this.state.onChange(show);
    show();
    this.#tools.prepend(copy);
  }

  onCheck(check: (values: Values<Fields>) => Promise<readonly Difference[]>): void {
    const run = () => {
      this.#say("Computing in double precision …");
      check(this.state.values).then(
        (differences) => this.#say(verdict(differences)),
        (error: unknown) => this.#fail(error),
      );
    };
    this.#tools.prepend(button("Compare with double precision", run));
  }

  onClose(close: () => void): void {
    this.#closing.push(close);
  }

  close(): void {
    for (const close of this.#closing) close();
  }

  engineName(name: string): void {
    this.#engineName = name;
  }

  /** Shows how long the latest call took. */
  time(duration: number): void {
    this.#time.textContent = `Computed in ${milliseconds(duration)} · ${this.#engineName}`;
  }

  #say(words: string): void {
    this.#verdict.textContent = words;
  }

  #fail(error: unknown): void {
    const hint = error instanceof EngineError && error.hint ? ` ${error.hint}` : "";
    const message = `This did not work: ${error instanceof Error ? error.message : String(error)}.${hint} `;
    this.#failure.replaceChildren(
      message,
      button("Try again", () => this.redraw()),
    );
    this.#failure.hidden = false;
    this.#article.ariaBusy = "false";
  }
}

/** A link to the room after this one. */
function nextDoor(id: string): HTMLAnchorElement {
  const next = DOORS[(DOORS.findIndex((door) => door.id === id) + 1) % DOORS.length]!;
  return element("a", { href: `#/${next.id}` }, next.title);
}

function verdict(differences: readonly Difference[]): string {
  const parts = differences.map(
    ({ what, numbers, largest }) =>
      `${what}: ${numbers.toLocaleString("en")} numbers, ${largest === 0 ? "all equal" : `at most ${largest.toExponential(1)} apart`}`,
  );
  return `Against the definition in double precision, ${parts.join("; ")}.`;
}
