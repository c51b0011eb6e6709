// Every JavaScript example of the README (and of the guides) runs as a reader would run it: in its own Node process,
// against the built package. What an example prints must be what its comments `// prints: …` say.
//
// Listings that are not whole programs run where they belong: those that name a file in
// tests/package/quick/listings.test.ts (which names the others), those on headwise/viz in vizListings.test.ts there, the
// commands for C++ in cppConsumer.test.ts.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, test } from "@jest/globals";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

const root = process.cwd();
const guides = path.join(root, "web", "docs");
const scratch = path.join(root, "build", "readme");

interface Listing {
  readonly page: string;
  /** What stands after the fence: the language, and the file that it is. */
  readonly kind: string;
  readonly text: string;
}

const pages = ["README.md", "CONTRIBUTING.md", ...readdirSync(guides).map((name) => path.join("web/docs", name))];
const listings = pages.flatMap((page): Listing[] => {
  const fences = readFileSync(page, "utf8").matchAll(/^```(.*)\n([^]*?)^```$/gm);
  return [...fences].map(([, kind, text]) => ({ page, kind: kind!, text: text! }));
});
const kindsOn = (page: string) => listings.filter((listing) => listing.page === page).map(({ kind }) => kind);

describe("every listing is one that a test runs", () => {
  const programs = new Set(["js", "sh"]);
  const elsewhere: Readonly<Record<string, readonly string[]>> = {
    "CONTRIBUTING.md": [""], // the tree of folders
    "web/docs/backends.md": ["js webgpu.mjs"],
    "web/docs/bundlers.md": ["html page", "js service.js"],
    "web/docs/contract.md": ["text", "text"], // the formula, and the error model
    "web/docs/cpp.md": ["cmake CMakeLists.txt"],
    "web/docs/layers.md": ["text"], // the formula
    "web/docs/testing.md": ["js causal.test.js", "js jest.config.js", "js server.js", "js bundle.mjs"],
    "web/docs/threads.md": ["js vite.config.js"],
    "web/docs/typescript.md": ["json tsconfig.json", "ts example.ts"],
    "web/docs/viz.md": ["html", "ts", "ts preact.d.ts", "ts solid.d.ts", "ts svelte.d.ts", "ts vue.d.ts"],
  };

  test.each(pages)("%s", (page) => {
    expect(kindsOn(page).filter((kind) => !programs.has(kind))).toEqual(elsewhere[page] ?? []);
  });
});

/** Runs the example inside the repository, so that `headwise` is found by package.json's own exports. */
function printedBy(example: string, name: string): string[] {
  mkdirSync(scratch, { recursive: true });
  const file = path.join(scratch, `${name}.mjs`);
  writeFileSync(file, example);
  return execFileSync(process.execPath, [file], { encoding: "utf8", timeout: WAIT_MILLISECONDS }).trim().split("\n");
}

const promisedBy = (example: string) => [...example.matchAll(/\/\/ prints: (.*)$/gm)].map((match) => match[1]!.trim());

const examples = listings
  .filter(({ kind }) => kind === "js")
  .map(({ page, text }, index) => ({ name: `${path.basename(page, ".md").toLowerCase()}-${index + 1}`, text }));

test("the README has examples", () => {
  expect(examples.filter(({ name }) => name.startsWith("readme")).length).toBeGreaterThanOrEqual(3);
});

test.each(examples)("example $name prints what it promises", ({ name, text }) => {
  const promised = promisedBy(text);
  expect(promised.length).toBeGreaterThan(0);
  expect(printedBy(text, name)).toEqual(promised);
});

describe("commands are those that there are", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
  const known = [
    ...Object.keys(scripts).map((name) => `npm run ${name}`),
    "npm start",
    "npm test",
    "npm install headwise",
  ];
  const commands = listings
    .filter(({ kind, text }) => kind === "sh" && !text.startsWith("cmake "))
    .flatMap(({ text }) => text.trim().split("\n"));

  test.each(commands)("%s", (command) => {
    const [words] = command.split(/ +(?:--|#) /);
    expect(known).toContain(words!.trim());
  });
});
