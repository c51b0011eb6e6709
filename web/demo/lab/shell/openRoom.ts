import type { Difference } from "../engine/difference.js";
import type { Engine } from "../engine/engine.js";
import type { Film } from "../share/film.js";
import { shareButton, shareCards } from "../share/shareButton.js";
import { DOORS, neighbours, nextRoom, type Door } from "../rooms/rooms.js";
import { t } from "../../texts/t.js";
import { toClipboard } from "./clipboard.js";
import { button } from "./controls.js";
import { element } from "./element.js";
import { Failure, inWords } from "./failure.js";
import { Folds } from "./folds.js";
import type { Fields, Values } from "./field.js";
import { latest } from "./latest.js";
import { counted, milliseconds, significant } from "./numbers.js";
import type { RoomView } from "./room.js";
import { State } from "./state.js";

/** Files that a room gives to another one. */
export interface Carried {
  readonly door: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly files: readonly File[];
}

export interface RoomEvents {
  readonly engine: () => Engine;
  /** Called when the room is loaded and has its settings. */
  readonly onOpen: () => void;
  readonly onCarry: (carried: Carried) => void;
}

/** The open room, with the parts that all rooms have: heading, tools, error text, code. */
export class OpenRoom implements RoomView<Fields> {
  readonly door: Door;
  readonly stage = element("div", { class: "stage" });
  /** Before the room's code is loaded, it has no settings. */
  state: State<Fields> = new State({});
  readonly #engine: () => Engine;
  readonly #onOpen: () => void;
  readonly #onCarry: RoomEvents["onCarry"];
  readonly #main: HTMLElement;
  readonly #article: HTMLElement;
  readonly #title: HTMLElement;
  readonly #finding = element("p", { class: "main-finding", "aria-live": "polite" });
  readonly #notice = element("p", { class: "notice", role: "status" });
  readonly #failure = new Failure();
  readonly #random = element("p", { class: "hint random" });
  readonly #verdict = element("p", { class: "verdict", role: "status" });
  readonly #unshared = element("p", { class: "hint", role: "status" });
  readonly #address = element("p", { class: "on-paper" });
  readonly #time = element("span", { class: "time" });
  readonly #tools = element("div", { class: "tools" });
  readonly #share: HTMLButtonElement;
  readonly #check = element("details", { class: "check" }, element("summary", {}, t`Check this`));
  readonly #checks = element("div", { class: "tools" });
  readonly #folds = new Folds(this.stage);
  readonly #closing: (() => void)[] = [];
  #film: (() => Film | undefined) | undefined;
  #takeFiles: ((files: readonly File[]) => void) | undefined;
  #draw: () => void = () => {};
  /** Settles when the latest drawing ends. */
  #drawn: Promise<void> | undefined;
  #isClosed = false;
  #isOpen = false;

  /** Shows the door's words. */
  constructor(main: HTMLElement, door: Door, { engine, onOpen, onCarry }: RoomEvents) {
    this.door = door;
    this.#engine = engine;
    this.#onOpen = onOpen;
    this.#onCarry = onCarry;
    const shared = {
      room: door,
      stage: this.stage,
      settings: () => this.state.query.toString(),
      film: () => this.#film?.(),
      fail: (error: unknown) => this.#fail(error, this.#draw),
    };
    this.#share = shareButton(shared);
    shareCards(shared);
    this.#random.hidden = this.#check.hidden = this.#unshared.hidden = true;
    this.#title = element("h1", {}, door.title);
    this.#article = element(
      "article",
      { class: "room", "data-room": door.id, "aria-busy": "true" },
      // What is random is said before the numbers that it is about.
      element("header", {}, this.#title, ...besides(door), ledeOf(door), this.#finding, this.#random),
      this.#notice,
      this.#failure.node,
      this.stage,
      element("footer", {}, this.#tools, this.#unshared, this.#check),
      nextDoor(door),
      this.#address,
    );
    this.#main = main;
    // The page may come with a picture of its first room. It stays until the room can draw.
    if (!main.querySelector(`[data-room=${door.id}]`)) this.#show();
  }

  /** Loads the room's code and opens the room. */
  async load(query: URLSearchParams): Promise<void> {
    const failed = (cause: unknown) =>
      this.#fail(
        new Error(t`the code of this room could not be loaded (${inWords(cause)})`),
        () => void this.load(query),
      );
    const loaded = await this.door.load().catch(failed);
    if (!loaded || this.#isClosed) return;
    const { room } = loaded;
    this.state = new State(room.fields, query);
    this.#show();
    this.random(room.random ?? "");
    this.#tools.append(
      this.#share,
      button(t`Reset`, () => this.state.read(new URLSearchParams())),
      button(t`Lectures`, () => this.#chooseLecture()),
      this.#time,
    );
    this.#check.append(this.#checks, this.#verdict);
    room.open(this);
    this.state.onChange(() => this.#unfold());
    this.#unfold();
    this.state.onChange(() => (this.#verdict.textContent = ""));
    this.#isOpen = true;
    this.#onOpen();
  }

  /** Whether the room's code is loaded. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  get engine(): Engine {
    return this.#engine();
  }

  onDraw(draw: (values: Values<Fields>) => Promise<void>): void {
    const work = async () => {
      this.#article.ariaBusy = "true";
      await (this.#drawn = draw(this.state.values));
      this.#unfold();
      this.#failure.clear();
      this.#article.ariaBusy = "false";
    };
    this.#draw = latest(work, (error) => this.#fail(error, this.#draw));
    this.state.onChange(this.#draw);
    this.#draw();
  }

  title(words: string): void {
    if (this.#title.textContent !== words) this.#title.textContent = words;
  }

  finding(sentence: string): void {
    if (this.#finding.textContent !== sentence) this.#finding.textContent = sentence;
  }

  random(words: string): void {
    if (this.#random.textContent !== words) this.#random.textContent = words;
    this.#random.hidden = words === "";
  }

  redraw(): void {
    this.#say(""); // what was compared may not be shown any more
    this.#draw();
  }

  onCode(code: (values: Values<Fields>) => string): void {
    const text = element("code");
    const show = () => (text.textContent = code(this.state.values));
    const copy = button(t`Copy code`, () => {
      show();
      void toClipboard(text.textContent).then(
        () => this.#say(t`Copied. It runs in Node and in a page, with headwise installed.`),
        () => this.#say(t`This browser does not let the page copy; the code stands below.`),
      );
    });
    const pre = element("pre", { role: "region", tabindex: "0", "aria-label": t`Code`, translate: "no" }, text);
    this.#check.append(pre);
    this.#check.hidden = false;
    this.state.onChange(show);
    show();
    this.#checks.append(copy);
  }

  onCheck(check: (values: Values<Fields>) => Promise<readonly Difference[]>): void {
    const compare = async () => {
      this.#say(t`Computing in double precision …`);
      let drawn: Promise<void> | undefined;
      while (drawn !== this.#drawn) await Promise.allSettled([(drawn = this.#drawn)]);
      if (this.#isClosed) return;
      const [outcome] = await Promise.allSettled([check(this.state.values)]);
      if (this.#isClosed) return;
      if (this.#drawn !== drawn) return run(); // the visitor asks about what is shown now
      if (outcome.status === "rejected") throw outcome.reason;
      this.#failure.clear();
      this.#say(verdict(outcome.value));
    };
    const run = latest(compare, (error) => {
      this.#say("");
      this.#fail(error, run);
    });
    this.#checks.prepend(button(t`Compare with double precision`, run));
    this.#check.hidden = false;
  }

  #chooseLecture(): void {
    const shown = { title: this.#title.textContent, room: this.door.id, settings: this.state.query };
    import("../lecture/lectureDialog.js").then(
      ({ chooseLecture }) => chooseLecture(shown),
      (error: unknown) => this.#fail(error, this.#draw),
    );
  }

  onFilm(film: () => Film | undefined): void {
    this.#film = film;
  }

  shareBy(own: HTMLButtonElement): void {
    own.onclick = this.#share.onclick;
    this.#share.remove();
  }

  onFiles(take: (files: readonly File[]) => void): void {
    this.#takeFiles = take;
  }

  /** Gives dropped files to the room, or says which room takes files. */
  takeFiles(files: readonly File[]): void {
    if (this.#takeFiles) return this.#takeFiles(files);
    const { id, title } = DOORS.find((door) => door.id === "tensors")!;
    const [before = "", after = ""] = t`Files belong in the room ${"|"}.`.split("|");
    this.notice(before, element("a", { href: `#/${id}` }, title), after);
  }

  /** Says something about the visit, above the room. */
  notice(...words: (string | Node)[]): void {
    this.#notice.replaceChildren(...words);
  }

  /** Shows the address on paper, and says which settings are too long for it. */
  address(address: string, names: readonly string[]): void {
    this.#address.textContent = address;
    this.#unshared.hidden = names.length === 0;
    this.#unshared.textContent =
      names.length === 0 ? "" : t`Too long for the address: ${names.join(", ")}. A link to this page leaves it out.`;
  }

  onClose(close: () => void): void {
    this.#closing.push(close);
  }

  close(): void {
    this.#isClosed = true;
    for (const close of this.#closing) close();
  }

  /** Shows how long the latest call took, and which engine computed it. */
  time(duration: number, engineName: string): void {
    this.#time.textContent = t`Computed in ${milliseconds(duration)} · ${engineName}`;
  }

  /** A room that was left stays away, also if its work ends, or fails, later. */
  #show(): void {
    if (!this.#isClosed && !this.#article.isConnected) this.#main.replaceChildren(this.#article);
  }

  #unfold(): void {
    this.#folds.follow(this.state.query);
  }

  #say(words: string): void {
    this.#verdict.textContent = words;
  }

  fail(error: Error): void {
    this.#fail(error, this.#draw);
  }

  carry(door: string, settings: Readonly<Record<string, string>>, files: readonly File[]): void {
    this.#onCarry({ door, settings, files });
  }

  #fail(error: unknown, again: () => void): void {
    this.#show();
    this.#failure.show(error, () => {
      this.#article.ariaBusy = "true";
      again();
    });
    this.#article.ariaBusy = "false";
  }
}

function ledeOf({ lede, keys }: Door): HTMLElement {
  const ends = keys ? [" ", element("span", { "data-keys": "" }, keys)] : [];
  return element("p", { class: "lede" }, lede, ...ends);
}

/** Links to the rooms that have one place in the navigation; none if there is only this one. */
function besides(door: Door): HTMLElement[] {
  const all = neighbours(door);
  const link = (each: Door) =>
    element("a", { href: `#/${each.id}`, ...(each === door && { "aria-current": "page" }) }, each.title);
  return all.length > 1
    ? [element("nav", { class: "besides", "aria-label": t`Beside this room` }, ...all.map(link))]
    : [];
}

/** A link to the room after this one. */
function nextDoor(door: Door): HTMLElement {
  const next = nextRoom(door);
  return element(
    "a",
    { class: "next", href: `#/${next.id}` },
    element("span", {}, t`Next`),
    element("b", {}, next.title),
    element("span", {}, next.lede),
  );
}

function verdict(differences: readonly Difference[]): string {
  const parts = differences.map(({ what, numbers, largest }) => {
    const apart = largest === 0 ? t`all equal` : t`at most ${significant(largest, 2)} apart`;
    return `${what}: ${counted(numbers, "number")}, ${apart}`;
  });
  return t`Against the definition in double precision, ${parts.join("; ")}.`;
}
