/** The room and its settings, as in "#/room?name=value". */
export interface Address {
  readonly room: string;
  readonly query: URLSearchParams;
}

export function parseAddress(hash: string): Address {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { room: path, query: new URLSearchParams(query) };
}

export function formatAddress({ room, query }: Address): string {
  const text = query.toString();
  return text ? `#/${room}?${text}` : `#/${room}`;
}
