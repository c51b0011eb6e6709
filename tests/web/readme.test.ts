// Runs every JavaScript example of the README and the guides, as a reader would: in its own Node process, with the
// built package. An example must print what its comments `// prints: …` say.
//
// Listings that are not whole programs are tested elsewhere. Those with a file name:
// tests/package/quick/listings.test.ts, which also names the others. Those about headwise/viz: vizListings.test.ts in
// the same folder, and those on React: reactListings.test.ts. Figures of the lab: tests/browser/lab/embed.test.ts and tests/package/matrix/embed.test.ts. The commands for C++: cppConsumer.test.ts.

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
  /** The text after the fence: the language, and the name of the file. */
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
    "README.md": ["html"], // vizListings.test.ts
    "CONTRIBUTING.md": [""], // the tree of folders
    "web/docs/backends.md": ["js webgpu.mjs", "js weight.mjs", "js recorded.mjs"],
    "web/docs/bundlers.md": ["html page", "js service.js"],
    "web/docs/coming-from-flexattention.md": ["python"], // PyTorch's side; the other one is run
    "web/docs/contract.md": ["text", "text"], // the formula, and the error model
    "web/docs/cpp.md": ["cmake CMakeLists.txt"],
    "web/docs/embed.md": [
      ...["html embed.html", "html frame.html", "tsx Page.tsx", "ts reactFigure.d.ts"],
      ...["svelte Page.svelte", "ts svelteFigure.d.ts", "html notebook.html"],
    ],
    "web/docs/gradients.md": ["text", "text", "js tensorflow.mjs"], // the formulas; with TensorFlow.js
    "web/docs/interventions.md": ["js induction.mjs"], // inductionExample.test.ts
    "web/docs/layers.md": ["text"], // the formula
    "web/docs/react.md": ["tsx Picture.tsx", "tsx App.tsx"],
    "web/docs/testing.md": ["js causal.test.js", "js jest.config.js", "js server.js", "js bundle.mjs"],
    "web/docs/threads.md": ["js vite.config.js"],
    "web/docs/typescript.md": ["json tsconfig.json", "ts example.ts"],
    "web/docs/your-model.md": ["html next.html"], // tests/browser/openModel.test.ts
    "web/docs/viz.md": ["html", "ts", "ts preact.d.ts", "ts solid.d.ts", "ts svelte.d.ts", "ts vue.d.ts"],
  };

  test.each(pages)("%s", (page) => {
    expect(kindsOn(page).filter((kind) => !programs.has(kind))).toEqual(elsewhere[page] ?? []);
  });
});

/** Runs the example inside the repository, so that the exports of package.json resolve `headwise`. */
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

test("the README fits on a screen or two, and has an example", () => {
  expect(readFileSync("README.md", "utf8").split("\n").length).toBeLessThanOrEqual(91);
  expect(examples.filter(({ name }) => name.startsWith("readme"))).toHaveLength(1);
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
    const [words] = command.replace(/^[A-Z_]+="[^"]*" /, "").split(/ +(?:--|#) /); // without an environment variable
    expect(known).toContain(words!.trim());
  });
});
