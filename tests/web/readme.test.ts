// Every JavaScript example of the README (and of the guides) runs as a reader would run it: in its own Node process,
// against the built package. What an example prints must be what its comments `// prints: …` say.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "@jest/globals";

const root = process.cwd();
const guides = path.join(root, "web", "docs");
const scratch = path.join(root, "build", "readme");

const pages = [path.join(root, "README.md"), ...readdirSync(guides).map((name) => path.join(guides, name))].filter(
  (file) => file.endsWith(".md"),
);

function examplesOf(page: string): string[] {
  return [...readFileSync(page, "utf8").matchAll(/^```js\n(.*?)^```/gms)].map((match) => match[1]!);
}

const promisedBy = (example: string) => [...example.matchAll(/\/\/ prints: (.*)$/gm)].map((match) => match[1]!.trim());

/** Runs the example inside the repository, so that `headwise` is found by package.json's own exports. */
function printedBy(example: string, name: string): string[] {
  mkdirSync(scratch, { recursive: true });
  const file = path.join(scratch, `${name}.mjs`);
  writeFileSync(file, example);
  return execFileSync(process.execPath, [file], { encoding: "utf8", timeout: 30_000 }).trim().split("\n");
}

const examples = pages.flatMap((page) => {
  const name = path.basename(page, ".md").toLowerCase();
  return examplesOf(page).map((text, index) => ({ name: `${name}-${index + 1}`, text }));
});

test("the README has examples", () => {
  expect(examples.filter(({ name }) => name.startsWith("readme")).length).toBeGreaterThanOrEqual(3);
});

test.each(examples)("example $name prints what it promises", ({ name, text }) => {
  const promised = promisedBy(text);
  expect(promised.length).toBeGreaterThan(0);
  expect(printedBy(text, name)).toEqual(promised);
});
