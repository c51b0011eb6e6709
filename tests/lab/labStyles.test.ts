// The style sheets of the lab. All of them are loaded in one page, so a class of one room must not reach another.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { CONTROLS } from "../../web/demo/lab/share/controls.js";

const LAB = fileURLToPath(new URL("../../web/demo/lab/", import.meta.url));
const ROOMS = path.join(LAB, "rooms");
/** Tiles of heads are one thing in three rooms, and each room's own class stands beside it. */
const SHARED = ["head-tile"];

const sheetsIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".css"));

test("no class is the subject of the style sheets of two rooms", () => {
  const rooms = new Map<string, Set<string>>();
  const files = sheetsIn(ROOMS);
  expect(files.length).toBeGreaterThan(8);
  for (const file of files) {
    const css = readFileSync(path.join(ROOMS, file), "utf8");
    for (const [, name] of css.matchAll(/^\.([a-z][a-z-]*)/gm))
      rooms.set(name!, (rooms.get(name!) ?? new Set()).add(file.split(path.sep)[0]!));
  }
  const twice = [...rooms].filter(([name, used]) => used.size > 1 && !SHARED.includes(name));
  expect(twice.map(([name, used]) => `${name}: ${[...used].join(", ")}`)).toEqual([]);
});

/** Tables of costs are drawn alike in two rooms. */
const ALIKE = ["costs"];

test("no class that a room's rule names alone is a class of another room's style sheet", () => {
  const alone: (readonly [name: string, room: string])[] = [];
  const used = new Map<string, Set<string>>();
  for (const file of sheetsIn(ROOMS)) {
    const css = readFileSync(path.join(ROOMS, file), "utf8");
    const room = file.split(path.sep)[0]!;
    for (const [, name] of css.matchAll(/\.([a-z][a-z-]*)/g)) used.set(name!, (used.get(name!) ?? new Set()).add(room));
    for (const [, name] of css.matchAll(/^\s*\.([a-z][a-z-]*)(?=[:,\s])/gm)) alone.push([name!, room]);
  }
  const shared = [...SHARED, ...ALIKE, ...general()];
  const reached = alone.filter(([name]) => used.get(name)!.size > 1 && !shared.includes(name));
  expect([...new Set(reached.map(([name, room]) => `${name} of ${room}`))]).toEqual([]);
});

/** The classes of what all rooms have. */
function general(): string[] {
  const sheets = sheetsIn(path.join(LAB, "styles")).map((file) => readFileSync(path.join(LAB, "styles", file), "utf8"));
  return sheets.flatMap((css) => [...css.matchAll(/^\.([a-z][a-z-]*)/gm)].map(([, name]) => name!));
}

// Such a rule concerns every element: the browser styles the whole page anew whenever a room writes a node.
test("no rule asks of the root, or of any element, what is in it", () => {
  const asked = sheetsIn(LAB).flatMap((file) =>
    [...readFileSync(path.join(LAB, file), "utf8").matchAll(/(\S*):has\(/g)].map(([, subject]) => subject!),
  );
  expect(asked.length).toBeGreaterThan(5);
  expect(asked.filter((subject) => subject.includes(":root") || !/[\w\])-]$/.test(subject))).toEqual([]);
});

test("paper leaves out the controls that saved pictures leave out", () => {
  const css = readFileSync(path.join(LAB, "styles", "media.css"), "utf8").replace(/\s+/g, " ");
  expect(css.replaceAll("( ", "(").replaceAll(" )", ")")).toContain(
    `.room :is(${CONTROLS}) { display: none !important; }`,
  );
});
