import { Engine } from "../engine/engine.js";
import { Lectern } from "../lecture/lectern.js";
import { DOORS, ENGINE_DOORS, NAVIGATION, type Door } from "../rooms/rooms.js";
import { formatAddress, parseAddress } from "./address.js";
import { t } from "../../texts/t.js";
import { stepAddress } from "../tour/steps.js";
import { Tour, tourFields } from "../tour/tour.js";
import { Busy } from "./busy.js";
import { takeDrops } from "./drops.js";
import { byId, element } from "./element.js";
import { EngineBadge, engineFields } from "./engineBadge.js";
import { OpenRoom, type Carried } from "./openRoom.js";
import { speak } from "./pageLanguage.js";
import { leadToCard, scrollToHeight } from "./scrolling.js";
import { State } from "./state.js";
import { themeButton } from "./theme.js";
import { Trail } from "./trail.js";

/** The site. One room is open at a time; the address says which one, and its settings. */
export class Lab {
  readonly #busy = new Busy();
  readonly #trail = new Trail(
    DOORS.map(({ id }) => id),
    () => this.#follow(),
  );
  readonly #badge: EngineBadge;
  readonly #choice: State<typeof engineFields>;
  readonly #place: State<typeof tourFields>;
  readonly #tour: Tour;
  readonly #lectern: Lectern;
  #engine: Engine;
  #room: OpenRoom | undefined;
  /** What the last room gave to the one that opens. */
  #carried: Carried | undefined;

  constructor() {
    speak();
    themeButton(byId("theme"));
    byId("rooms").replaceChildren(...NAVIGATION.map(({ id, title }) => element("li", {}, doorLink(id, title))));
    byId("skip").onclick = () => byId("main").focus();
    takeDrops(
      (files) => this.#take(files),
      () => this.#room!.fail(new Error(t`what was dropped could not be read`)),
    );
    const { query } = parseAddress(location.hash);
    this.#choice = new State(engineFields, query);
    this.#place = new State(tourFields, query);
    byId<HTMLAnchorElement>("take-tour").href = stepAddress(1);
    this.#tour = new Tour(byId("tour"), this.#place, {
      engine: () => this.#engine,
      show: (settings) => this.#room?.state.read(settings),
    });
    this.#place.onChange(() => this.#write());
    this.#lectern = new Lectern(query);
    this.#lectern.state.onChange(() => this.#write());
    this.#badge = new EngineBadge(byId("engine"), byId("engine-panel"), this.#choice);
    byId("engine-panel").append(element("nav", { "aria-label": t`Engine` }, ...ENGINE_DOORS.map(engineLink)));
    this.#engine = this.#openEngine();
    this.#choice.onChange(() => this.#changeEngine());
    this.#follow();
  }

  #openEngine(): Engine {
    const { backend, threads } = this.#choice.values;
    return new Engine(
      { backend, ...(threads > 0 && { threads }) },
      {
        onReport: (report) => this.#badge.showReport(report),
        onUnusable: (reason) => this.#badge.showFailure(reason),
        onCalls: (open) => this.#busy.calls(open),
        onProgress: (progress) => this.#busy.progress(progress),
        onTime: (milliseconds) => this.#room?.time(milliseconds, this.#badge.name),
      },
    );
  }

  #changeEngine(): void {
    this.#engine.close();
    this.#engine = this.#openEngine();
    this.#write();
    this.#room?.redraw();
  }

  /** Opens the room of the address. */
  #follow(): void {
    const arrival = this.#trail.arrive();
    if (!arrival) return;
    const { room: name, query } = arrival;
    const door = DOORS.find(({ id }) => id === name) ?? DOORS[0]!;
    const room = this.#room?.isOpen && this.#room.door === door ? this.#room : this.#enter(door, query);
    room.state.read(query);
    if (Object.keys(engineFields).some((field) => query.has(field))) this.#choice.read(query);
    this.#place.read(query);
    this.#lectern.state.read(query);
    const isKnown = name === "" || name === door.id;
    if (isKnown) room.notice();
    else room.notice(t`There is no room “${name}”. This is the first one: ${door.title}.`);
    this.#write();
    this.#tour.enter(door.id);
    void this.#lectern.show();
    if (arrival.card === undefined) scrollToHeight(arrival.height);
    else {
      const missing = t`This room has no card ${arrival.card}.`;
      leadToCard(arrival.card, (isMissing) => isKnown && room.notice(isMissing ? missing : ""));
    }
  }

  #enter(door: Door, query: URLSearchParams): OpenRoom {
    const isFirst = this.#room === undefined;
    this.#room?.close();
    showDoor(door);
    const room = new OpenRoom(byId("main"), door, {
      engine: () => this.#engine,
      onOpen: () => {
        room.state.onChange(() => this.#write());
        this.#write();
        if (this.#carried?.door === door.id) room.takeFiles(this.#carried.files);
        this.#carried = undefined;
      },
      onCarry: (carried) => {
        this.#carried = carried;
        location.hash = formatAddress({ room: carried.door, query: new URLSearchParams(carried.settings) });
      },
    });
    this.#room = room;
    if (!isFirst) byId("main").focus({ preventScroll: true });
    void room.load(query);
    return room;
  }

  /** A room whose code is still being loaded gets dropped files when it opens. */
  #take(files: readonly File[]): void {
    const room = this.#room!;
    if (room.isOpen) room.takeFiles(files);
    else this.#carried = { door: room.door.id, settings: {}, files };
  }

  #write(): void {
    if (!this.#room?.isOpen) return;
    const address = { room: this.#room.door.id, query: this.#room.state.query };
    const shared = [this.#choice, this.#place, this.#lectern.state].flatMap(({ query }) => [...query]);
    const tooLong = this.#trail.write(address, new URLSearchParams(shared));
    this.#room.address(this.#trail.address, tooLong);
  }
}

function doorLink(id: string, title: string): HTMLAnchorElement {
  return element("a", { href: `#/${id}`, "data-door": id }, title);
}

/** A room behind the pill, with what it is about. */
function engineLink({ id, title, lede }: Door): HTMLAnchorElement {
  return element("a", { href: `#/${id}`, "data-door": id }, element("b", {}, title), element("span", {}, lede));
}

function showDoor({ id, title, behind }: Door): void {
  document.title = `${title} · headwise lab`;
  const pill = byId<HTMLDetailsElement>("engine");
  pill.open = false;
  pill.classList.toggle("here", behind === "engine");
  for (const link of document.querySelectorAll<HTMLAnchorElement>("[data-door]")) {
    if (link.dataset["door"] !== id && link.dataset["door"] !== behind) link.removeAttribute("aria-current");
    else {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "center" });
    }
  }
}
