/** The room and its settings, as in "#/room?name=value". */
export interface Address {
  readonly room: string;
  readonly query: URLSearchParams;
}

/** The name of the card in an address. No room has a setting of this name. */
const CARD = "card";

export function parseAddress(hash: string): Address {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { room: decoded(path), query: new URLSearchParams(query) };
}

/** A browser writes what is not ASCII in an address as “%…”. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function formatAddress({ room, query }: Address): string {
  const text = query.toString();
  return text ? `#/${room}?${text}` : `#/${room}`;
}

/** The number of the card that an address leads to; undefined if it names none. */
export function cardIn(query: URLSearchParams): number | undefined {
  const number = Number(query.get(CARD));
  return Number.isInteger(number) && number > 0 ? number : undefined;
}

/** The same settings with this card, or without one. */
export function withCard(query: URLSearchParams, card: number | undefined): URLSearchParams {
  const others = [...query].filter(([name]) => name !== CARD);
  return new URLSearchParams(card === undefined ? others : [...others, [CARD, String(card)]]);
}

/** Longer addresses are cut by mail and chat programs, and browsers refuse them sooner or later. */
const LONGEST = 32_000;

/** The settings that fit into an address. The longest are left out first. */
export function fitting(query: URLSearchParams): { readonly query: URLSearchParams; readonly leftOut: string[] } {
  const kept = new URLSearchParams(query);
  const longestFirst = [...query].sort(([, a], [, b]) => b.length - a.length).map(([name]) => name);
  const leftOut: string[] = [];
  while (kept.toString().length > LONGEST) {
    leftOut.push(longestFirst[leftOut.length]!);
    kept.delete(leftOut.at(-1)!);
  }
  return { query: kept, leftOut };
}
