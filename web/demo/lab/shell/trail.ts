import { cardIn, fitting, formatAddress, parseAddress, withCard, type Address } from "./address.js";

/** A browser refuses more than about 100 changes of the address in 30 seconds. */
const PAUSE_MS = 350;

/** The event of the window after the address was written; the browser has none for this. */
export const ADDRESS_WRITTEN = "headwise-address-written";

/** What the browser keeps with an entry of its history. The address may lack settings that are too long for it. */
interface Kept {
  readonly key: string;
  readonly query: string;
  /** How far the page is scrolled. */
  readonly height: number;
}

/** A place that the visitor has come to. The room may be unknown. */
export interface Arrival extends Address {
  /** How far the page was scrolled here. */
  readonly height: number;
  /** The card to lead to. A visitor who comes back is led to the height instead. */
  readonly card: number | undefined;
}

let entries = 0;
/** A name for an entry that no other one has, also after the page was loaded anew. */
const newKey = () => `${performance.timeOrigin}-${++entries}`;

/**
 * The visitor's way through the rooms, in the browser's history. Entering a room adds an entry; a setting changes the
 * current one. An address without settings gets the latest ones of its room, and those that all rooms share.
 */
export class Trail {
  readonly #rooms: readonly string[];
  readonly #latest = new Map<string, URLSearchParams>();
  #shared = new URLSearchParams();
  #key = "";
  #current: Address = { room: "", query: new URLSearchParams() };
  #height = 0;
  #isWritten = true;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The first of the rooms opens for an address that names none of them. */
  constructor(rooms: readonly string[], onArrival: () => void) {
    this.#rooms = rooms;
    history.scrollRestoration = "manual";
    // A browser sends both, or only one of them.
    for (const event of ["popstate", "hashchange"]) addEventListener(event, onArrival);
    addEventListener("click", (event) => this.#leave(event), { capture: true });
    addEventListener("scroll", () => this.#change({ height: scrollY }), { passive: true });
    addEventListener("pagehide", () => this.#flush());
  }

  /** The place of the current entry; undefined if the visitor is there already. */
  arrive(): Arrival | undefined {
    const kept = history.state as Kept | null;
    if (kept?.key !== undefined && kept.key === this.#key) return undefined;
    const address = parseAddress(location.hash);
    const isPlain = !kept && address.query.toString() === "";
    const room = this.#rooms.includes(address.room) ? address.room : this.#rooms[0]!;
    const given = kept ? new URLSearchParams(kept.query) : address.query;
    const query = isPlain ? joined(this.#latest.get(room), this.#shared) : given;
    this.#key = kept?.key ?? newKey();
    this.#current = { room, query };
    this.#height = kept?.height ?? 0;
    this.#replace();
    return { room: address.room, query, height: this.#height, card: kept ? undefined : cardIn(query) };
  }

  /**
   * Writes the settings of the open room, and those that all rooms share, into the current entry, which keeps its card.
   * Returns the names of those that are too long for the address.
   */
  write({ room, query }: Address, shared: URLSearchParams): readonly string[] {
    this.#latest.set(room, query);
    this.#shared = shared;
    const card = cardIn(this.#current.query);
    this.#change({ address: { room, query: withCard(joined(query, shared), card) } });
    return fitting(query).leftOut;
  }

  /** The entry that a link leaves gets its last settings. A link to the open room, without settings, leads nowhere. */
  #leave(event: MouseEvent): void {
    this.#flush();
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#/"]');
    const isOrdinary = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (link && isOrdinary && link.hash === `#/${parseAddress(location.hash).room}`) event.preventDefault();
  }

  #change({ address = this.#current, height = this.#height }: { address?: Address; height?: number }): void {
    this.#current = address;
    this.#height = height;
    this.#isWritten = false;
    if (this.#timer === undefined) this.#flush();
  }

  #flush(): void {
    // A link has led on, and the visitor's arrival is not told yet.
    const isLeft = (history.state as Kept | null)?.key !== this.#key;
    if (this.#isWritten || isLeft) return;
    this.#replace();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, PAUSE_MS);
  }

  /** The whole address of the page, as it will be written. */
  get address(): string {
    const { room, query } = this.#current;
    return new URL(formatAddress({ room, query: fitting(query).query }), location.href).href;
  }

  #replace(): void {
    const kept: Kept = { key: this.#key, query: this.#current.query.toString(), height: this.#height };
    history.replaceState(kept, "", this.address);
    this.#isWritten = true;
    dispatchEvent(new Event(ADDRESS_WRITTEN));
  }
}

function joined(...queries: readonly (URLSearchParams | undefined)[]): URLSearchParams {
  return new URLSearchParams(queries.flatMap((query) => [...(query ?? [])]));
}
