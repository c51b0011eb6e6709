// The rooms of cpp/, bottom to top (see cpp/README.md): no file includes one of a room above its own.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";

import { root } from "./paths.mjs";

const ROOMS = [
  "base",
  "kernel",
  "position",
  "contract",
  "source",
  "formula",
  "attention",
  "backward",
  "cache",
  "layer",
  "bindings",
];

/** The room of each public header. All other files are in the room that their folder names. */
const PUBLIC = {
  array: "base",
  formula: "base",
  status: "base",
  thread_pool: "base",
  position: "position",
  arrival: "contract",
  attention: "contract",
  backward: "contract",
  kv_cache: "contract",
  layer: "layer",
  linear: "layer",
  row_operations: "layer",
};

const cpp = path.join(root, "cpp");
const INCLUDE_PATHS = ["include", "src", "bindings"];

/** @returns a sentence for each include that goes upwards, and for each circle of headers. */
export function faultsOfRooms() {
  const files = INCLUDE_PATHS.flatMap(sourcesIn).filter((file) => roomOf(file) !== "reference");
  const unplaced = files.filter((file) => !ROOMS.includes(roomOf(file))).map((file) => `${file} is in no room`);
  const upward = files.flatMap((file) =>
    includesOf(file)
      .filter((included) => ROOMS.indexOf(roomOf(included)) > ROOMS.indexOf(roomOf(file)))
      .map((included) => `${file} includes ${included}, which is above it`),
  );
  return [...unplaced, ...upward, ...circlesAmong(files)];
}

function sourcesIn(folder) {
  return readdirSync(path.join(cpp, folder), { recursive: true })
    .filter((file) => /\.(cpp|h)$/.test(file))
    .map((file) => path.posix.join(folder, file.replaceAll(path.sep, "/")));
}

/** `include/headwise/array.h` is in the room of PUBLIC, `src/base/memory.h` in base, `bindings/embind.cpp` in bindings. */
function roomOf(file) {
  const [top, folder, name] = file.split("/");
  if (top === "include") return PUBLIC[path.basename(name, ".h")];
  return top === "src" ? folder : top;
}

function includesOf(file) {
  const named = readFileSync(path.join(cpp, file), "utf8").matchAll(/^#include "(.+)"$/gm);
  return [...named].flatMap(([, name]) => {
    const folder = INCLUDE_PATHS.find((each) => existsSync(path.join(cpp, each, name)));
    return folder ? [`${folder}/${name}`] : [];
  });
}

/** Headers that come to include themselves, each named once. */
function circlesAmong(files) {
  const left = new Map(files.map((file) => [file, includesOf(file)]));
  for (let size = -1; size !== left.size;) {
    size = left.size;
    for (const [file, includes] of left) if (!includes.some((each) => left.has(each))) left.delete(file);
  }
  return [...left.keys()].map((file) => `${file} is part of a circle of includes, or includes one`);
}
