// Lines of aligned columns. The last columns are for peers.

const pad = (text, width, k) => (k === 0 ? text.padEnd(width) : text.padStart(width));

export const digits = (milliseconds) => milliseconds.toFixed(milliseconds < 10 ? 2 : 1);

/** A time for a column of milliseconds: below one it is in microseconds. */
export const time = (milliseconds) => (milliseconds < 1 ? `${digits(milliseconds * 1e3)} µs` : digits(milliseconds));

export const percent = (share) => `${(share * 100).toFixed(0)}%`;

/**
 * @param {[title: string, width: number, text: (record: object) => string][]} columns
 * @param {number} peerWidth
 * @returns functions of the peers' names, which print the line of titles, and the line of a record
 */
export function table(columns, peerWidth) {
  const ratio =
    (name) =>
    ({ peers }) =>
      peers[name] ? peers[name].ratio.toFixed(2) : "–";
  const all = (peers) => [...columns, ...peers.map((name) => [`×${name}`, peerWidth, ratio(name)])];
  const join = (peers, text) =>
    all(peers)
      .map((column, k) => pad(text(column), column[1], k))
      .join(" ");
  return {
    header: (peers) => join(peers, ([title]) => title),
    line: (record, peers) => join(peers, ([, , text]) => text(record)),
  };
}
