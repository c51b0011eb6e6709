// Unites reports on the same sources: a line or a branch is covered if one of the reports says so.

/**
 * @typedef {object} Coverage
 * @property {{ covered: number, total: number }} lines
 * @property {{ covered: number, total: number }} branches
 * @property {{ name: string, lines: object, branches: object }[]} files
 */

/** Of a line of which only a part has run, monocart gives a text such as "1/2". It is not covered. */
const isCovered = (count) => typeof count === "number" && count > 0;

const branchKey = ({ start, end, none }) => `${start}-${end}${none ? " else" : ""}`;

/** Notes a place, and whether it is covered. */
const note = (places, key, count) => places.set(key, isCovered(count) || places.get(key) === true);

/**
 * @param {{ sourcePath: string, data: { lines: Record<string, number | string>, branches: object[] } }[][]} reports - of
 *   monocart. The first has every source. Another compiler may have made other branches; they do not count.
 * @returns {Coverage}
 */
export function united([whole, ...others]) {
  const files = new Map(whole.map(({ sourcePath, data }) => [sourcePath, placesOf(data)]));
  for (const { sourcePath, data } of others.flat()) {
    const file = files.get(sourcePath);
    if (!file) continue; // it is in no bundle
    const { lines, branches } = placesOf(data);
    for (const [key, covered] of lines) if (file.lines.has(key)) note(file.lines, key, Number(covered));
    for (const [key, covered] of branches) if (file.branches.has(key)) note(file.branches, key, Number(covered));
  }
  const counted = [...files].map(([name, { lines, branches }]) => ({
    name,
    lines: countOf(lines),
    branches: countOf(branches),
  }));
  const sum = (of) => counted.reduce((all, file) => added(all, file[of]), { covered: 0, total: 0 });
  return { lines: sum("lines"), branches: sum("branches"), files: counted };
}

function placesOf({ lines, branches }) {
  const places = { lines: new Map(), branches: new Map() };
  for (const [line, count] of Object.entries(lines)) note(places.lines, line, count);
  for (const branch of branches) note(places.branches, branchKey(branch), branch.count);
  return places;
}

const countOf = (places) => ({ covered: [...places.values()].filter(Boolean).length, total: places.size });
const added = (a, b) => ({ covered: a.covered + b.covered, total: a.total + b.total });
