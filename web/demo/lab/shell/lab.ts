import { Engine } from "../engine/engine.js";
import { DOORS, type Door } from "../rooms/rooms.js";
import { formatAddress, parseAddress } from "./address.js";
import { Busy } from "./busy.js";
import { takeDrops } from "./drops.js";
import { byId, element } from "./element.js";
import { EngineBadge, engineFields } from "./engineBadge.js";
import { OpenRoom } from "./openRoom.js";
import { State } from "./state.js";
import { themeButton } from "./theme.js";

/** The site. One room is open at a time; the address says which one, and its settings. */
export class Lab {
  readonly #busy = new Busy();
  readonly #badge: EngineBadge;
  readonly #choice: State<typeof engineFields>;
  #engine: Engine;
  #room: OpenRoom | undefined;

  constructor() {
    themeButton(byId("theme"));
    byId("rooms").replaceChildren(...DOORS.map(({ id, title }) => element("li", {}, doorLink(id, title))));
    byId("skip").onclick = () => byId("main").focus();
    this.#choice = new State(engineFields, parseAddress(location.hash).query);
    this.#badge = new EngineBadge(byId("engine"), byId("engine-panel"), this.#choice);
    this.#engine = this.#openEngine();
    this.#choice.onChange(() => this.#changeEngine());
    takeDrops((files) => this.#room?.takeFiles(files));
    addEventListener("hashchange", () => void this.#follow());
    void this.#follow();
  }

  #openEngine(): Engine {
    const { backend, threads } = this.#choice.values;
    return new Engine(
      { backend, ...(threads > 0 && { threads }) },
      {
        onReport: (report) => {
          this.#badge.showReport(report);
          this.#room?.engineName(this.#badge.name);
        },
        onUnusable: (reason) => this.#badge.showFailure(reason),
        onCalls: (open) => this.#busy.calls(open),
        onProgress: (progress) => this.#busy.progress(progress),
        onTime: (milliseconds) => this.#room?.time(milliseconds),
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
  async #follow(): Promise<void> {
    const { room, query } = parseAddress(location.hash);
    this.#choice.read(query);
    if (this.#room?.id === room) return this.#room.state.read(query);
    const door = DOORS.find(({ id }) => id === room) ?? DOORS[0]!;
    const moved = this.#room !== undefined;
    showDoor(door);
    const loaded = await door.load();
    this.#room?.close();
    this.#room = new OpenRoom(byId("main"), door, loaded.room, query, () => this.#engine, this.#badge.name);
    this.#room.state.onChange(() => this.#write());
    if (!moved) return;
    byId("main").focus({ preventScroll: true }); // show the top of a new room, below the bar
    scrollTo(0, 0);
  }

  #write(): void {
    if (!this.#room) return;
    const query = new URLSearchParams([...this.#room.state.query, ...this.#choice.query]);
    history.replaceState(null, "", formatAddress({ room: this.#room.id, query }));
  }
}

function doorLink(id: string, title: string): HTMLAnchorElement {
  return element("a", { href: `#/${id}`, "data-door": id }, title);
}

function showDoor({ id, title }: Door): void {
  document.title = `${title} · headwise lab`;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("[data-door]")) {
    if (link.dataset["door"] !== id) link.removeAttribute("aria-current");
    else {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "center" });
    }
  }
}
