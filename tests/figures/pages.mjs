// Puts what was measured into the pages, between comments that a reader of the page does not see.
//
//   <!-- figure build/index.js -->122 KB<!-- /figure -->     a figure: its part and its name
//   <!-- figure threads/ROW/COLUMN -->1.8<!-- /figure -->    a cell of a table, without what stands in brackets
//   <!-- table threads -->                                   a whole table, up to <!-- /table -->

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { root } from "../../web/build/paths.mjs";
import { readParts } from "./file.mjs";

const FOLDERS = ["web", "cpp", "tests"];
const FIGURE = /<!-- figure (.+?) -->.*?<!-- \/figure -->/g;
const TABLE = /<!-- table (\S+) -->[^]*?<!-- \/table -->/g;

/** All pages that people write: paths in the repository. */
export const pages = () => [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...FOLDERS.flatMap((folder) => pagesIn(folder)),
];

function pagesIn(folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : pagesIn(name);
    return name.endsWith(".md") ? [name] : [];
  });
}

/** The page with all figures and tables of the parts. */
export function filled(text, parts) {
  return text
    .replace(FIGURE, (_, name) => `<!-- figure ${name} -->${figureText(parts, name)}<!-- /figure -->`)
    .replace(TABLE, (_, name) => `<!-- table ${name} -->\n\n${tableText(tableNamed(parts, name))}\n\n<!-- /table -->`);
}

/** The names of all figures and tables that a page says. */
export const namesIn = (text) =>
  [FIGURE, TABLE].flatMap((pattern) => [...text.matchAll(pattern)].map(([, name]) => name));

/** What a page says outside of figures and tables. */
export const unmeasured = (text) => text.replace(FIGURE, "").replace(TABLE, "");

/** Puts what figures.json has into all pages. */
export function fillPages() {
  const parts = readParts();
  for (const page of pages()) {
    const file = path.join(root, page);
    const text = readFileSync(file, "utf8");
    const now = filled(text, parts);
    if (now !== text) writeFileSync(file, now);
  }
}

/** "122 KB", or the cell of a table. */
export function figureText(parts, name) {
  const [partName, ...rest] = name.split("/");
  const part = parts[partName];
  const text = part?.figures ? valueText(part.figures[rest.join("/")]) : cellText(part, rest);
  if (text === undefined) throw new Error(`figures.json has no "${name}"`);
  return text;
}

const valueText = (figure) => figure && `${figure.value.toLocaleString("en")} ${figure.unit}`.trim();

/** The cell of a row and a column. A name of a row may contain "/". */
function cellText(part, names) {
  const [row, column] = [names.slice(0, -1).join("/"), names.at(-1)];
  return part?.rows[row]?.[part.columns.indexOf(column)]?.replace(/ \(.*\)$/, "");
}

function tableNamed(parts, name) {
  if (!parts[name]?.rows) throw new Error(`figures.json has no table "${name}"`);
  return parts[name];
}

/** A table, its notes, and by which commands it was measured; when and where, unless its rows say that. */
export function tableText({ columns, rows, notes = [], commands, date, machine }) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const notesText = notes.length > 0 ? [notes.map((note) => `- ${note}`).join("\n")] : [];
  const by = commands.map((command) => `\`${command}\``).join(" and ");
  return [
    [line(columns), `|${"---|".repeat(columns.length)}`, ...Object.values(rows).map(line)].join("\n"),
    ...notesText,
    `Measured${date ? ` on ${date}` : ""} by ${by}${machine ? `: ${machine}` : ""}.`,
  ].join("\n\n");
}
