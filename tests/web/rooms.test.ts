import { describe, expect, test } from "@jest/globals";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

// web/README.md says what is in each room.

const WEB = fileURLToPath(new URL("../../web", import.meta.url));
const SOURCE = path.join(WEB, "src");

/** The rooms of web/src, lowest first. A file imports only from its own room and from rooms before it in this list. */
const ROOMS = [
  ["base"],
  ["tensor"],
  ["read"],
  ["turn"],
  ["formula"],
  ["attention", "position"],
  ["cache", "linear"],
  ["layer"],
  ["engine", "step"],
  ["auto", "load"],
  ["wasm", "webgpu"],
  ["instance"],
  ["worker", "onnx", "viz", "train", "inspect", "remote"],
  ["models", "react"],
  ["entries"],
];

/** The rooms inside of webgpu. Only its engine stands above them. */
const WEBGPU = [
  ["formula"],
  ["kernels"],
  ["plan"],
  ["device"],
  ["call"],
  ["attention"],
  ["cache"],
  ["layer"],
  ["step"],
  ["webgpuEngine.ts"],
];

const floorIn = (rooms: readonly string[][], file: string) =>
  rooms.findIndex((floor) => floor.includes(file.split(path.sep)[0]!));

/** Imports from a lower floor to a higher one. */
function upwardsIn(rooms: readonly string[][], imports: ReadonlyMap<string, readonly string[]>): string[] {
  return [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => floorIn(rooms, target) > floorIn(rooms, file))
      .map((target) => `${file} imports ${target}`),
  );
}

/** All files of a folder in TypeScript, and the files that each imports by a relative path. */
function importsIn(folder: string): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  return new Map(files.map((file) => [file, importsOf(folder, file)]));
}

function importsOf(folder: string, file: string): string[] {
  const text = readFileSync(path.join(folder, file), "utf8");
  const specifiers = [...text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) => match[1]!);
  return specifiers.map((specifier) => path.join(path.dirname(file), specifier).replace(/\.js$/, ".ts"));
}

function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" → "));
    if (done.has(file) || way.includes(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...way, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}

const imports = importsIn(SOURCE);

describe("The rooms of web/src", () => {
  test("are all named here, and no file stands outside of them", () => {
    const found = readdirSync(SOURCE);
    expect(found.filter((name) => !statSync(path.join(SOURCE, name)).isDirectory())).toEqual([]);
    expect([...found].sort()).toEqual(ROOMS.flat().sort());
  });

  test("import nothing from above", () => {
    expect(imports.size).toBeGreaterThan(150);
    expect(upwardsIn(ROOMS, imports)).toEqual([]);
  });

  test("above the instance know nothing of the engines, but the worker's and the entries", () => {
    const engines = ["wasm", "webgpu", "auto", "load", "worker"];
    const mayKnow = ["worker", "entries"];
    const above = ROOMS.slice(ROOMS.findIndex((floor) => floor.includes("instance")) + 1).flat();
    const others = above.filter((room) => !mayKnow.includes(room));
    const roomOf = (file: string) => file.split(path.sep)[0]!;
    const found = [...imports].flatMap(([file, targets]) =>
      others.includes(roomOf(file))
        ? targets.filter((target) => engines.includes(roomOf(target))).map((target) => `${file} imports ${target}`)
        : [],
    );
    expect(others.length).toBeGreaterThan(5);
    expect(found).toEqual([]);
  });

  test("have no circles of imports, types included", () => {
    expect(circlesOf(imports)).toEqual([]);
  });
});

test("A call on WebGPU goes one way through the rooms of webgpu", () => {
  const folder = path.join(SOURCE, "webgpu");
  const found = readdirSync(folder).filter((name) => !name.endsWith(".md"));
  expect([...found].sort()).toEqual(WEBGPU.flat().sort());
  expect(upwardsIn(WEBGPU, importsIn(folder))).toEqual([]);
});

test("The demo has no circles of imports, types included", () => {
  const demo = importsIn(path.join(WEB, "demo"));
  expect(demo.size).toBeGreaterThan(50);
  expect(circlesOf(demo)).toEqual([]);
});

test("A circle of imports is found, and named", () => {
  const files = new Map([
    ["a.ts", ["b.ts"]],
    ["b.ts", ["c.ts"]],
    ["c.ts", ["b.ts"]],
  ]);
  expect(circlesOf(files)).toEqual(["b.ts → c.ts → b.ts"]);
});
