import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string) => readFileSync(path.join(ROOT, file), "utf8");

/** The rows of the table in the demo's README: the point, and the tests that it names. */
const lessons = read("web/demo/README.md")
  .split("\n")
  .filter((line) => line.includes(".test.ts`: "))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map((cells) => [cells[1]!, cells[3]!] as const);

test("the points of the lessons are in the demo's README", () => {
  expect(lessons.length).toBeGreaterThan(20);
});

test.each(lessons)("%s: the tests that its row names exist", (_, tests) => {
  let file = "";
  for (const part of tests.split("; ")) {
    const [, named, title] = /^(?:`([^`]+)`: )?(.+)$/.exec(part)!;
    file = named ? read(named) : file;
    expect([title, /["'`]/.test(file[file.indexOf(title!) - 1] ?? "")]).toEqual([title, true]); // a title begins so
  }
});
