// The style sheets of the rooms. All of them may be loaded in one page, so a class of one room must not reach another.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

import { expect, test } from "@jest/globals";

const ROOMS = fileURLToPath(new URL("../../web/demo/lab/rooms/", import.meta.url));
/** Tiles of heads are one thing in three rooms, and each room's own class stands beside it. */
const SHARED = ["head-tile"];

test("no class is the subject of the style sheets of two rooms", () => {
  const rooms = new Map<string, Set<string>>();
  const files = readdirSync(ROOMS, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".css"));
  expect(files.length).toBeGreaterThan(8);
  for (const file of files) {
    const css = readFileSync(path.join(ROOMS, file), "utf8");
    for (const [, name] of css.matchAll(/^\.([a-z][a-z-]*)/gm))
      rooms.set(name!, (rooms.get(name!) ?? new Set()).add(file.split(path.sep)[0]!));
  }
  const twice = [...rooms].filter(([name, used]) => used.size > 1 && !SHARED.includes(name));
  expect(twice.map(([name, used]) => `${name}: ${[...used].join(", ")}`)).toEqual([]);
});
