import { existsSync, readdirSync, readFileSync } from "node:fs";

import { beforeAll, describe, expect, test } from "@jest/globals";
import Ajv from "ajv";

import { referenceAttention } from "./reference/reference.js";
import { callOf, referenceOptions, type Row } from "./measure/call.js";
import type { Engine } from "./measure/engine.js";
import { CATEGORIES, OFFERED, type Category } from "./measure/features.js";
import { judgeTopK } from "./measure/judge.js";
import { few, measure, type Check } from "./measure/measure.js";
import { openPoisonedRows } from "./measure/poison.js";
import { seededEngine, type Fault } from "./seededEngine.js";

interface Runner {
  readonly CASE_FILES: readonly string[];
  readSuite(filter?: RegExp): { rows: Row[]; onnx: [] };
}

const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");

const module = async <Type>(file: string) => (await import(file)) as Type;

let runner: Runner;
let rows: readonly Row[];
beforeAll(async () => {
  runner = await module<Runner>("./runner/suite.mjs");
  rows = runner.readSuite().rows;
});

async function checksOf(engine: Engine, filter: RegExp): Promise<Check[]> {
  const checks: Check[] = [];
  const chosen = rows.filter(({ name }) => filter.test(name));
  await measure(engine, { rows: chosen, onnx: [] }, (check) => checks.push(check));
  return checks;
}

describe("the cases", () => {
  test("agree with the schema", () => {
    const validate = new Ajv({ allErrors: true }).compile(JSON.parse(read("schema/case.schema.json")) as object);
    for (const file of runner.CASE_FILES) {
      void validate(JSON.parse(readFileSync(file, "utf8")));
      expect({ file, errors: validate.errors }).toEqual({ file, errors: null });
    }
  });

  test("the schema refuses a misspelt option", () => {
    const validate = new Ajv().compile(JSON.parse(read("schema/case.schema.json")) as object);
    const shape = { queryLength: 1, headDim: 1 };
    expect(validate({ version: 1, cases: [{ name: "a", seed: 1, shape, options: { softCap: 1 } }] })).toBe(false);
  });

  test("have names of their own", () => {
    const names = rows.map(({ name }) => name);
    expect(names.filter((name, k) => names.indexOf(name) !== k)).toEqual([]);
  });

  test("every case of isolation has rows that do not see the poison", () => {
    const poisoned = rows.filter(({ poison }) => poison);
    expect(poisoned.length).toBeGreaterThan(50);
    for (const { poison, ...clean } of poisoned) {
      const { query, key, value, options } = callOf(clean);
      const reference = referenceAttention(query, key, value, referenceOptions(options));
      const judged = openPoisonedRows(reference, poison!).tolerance.filter((error) => error < Infinity).length;
      expect([clean.name, judged > 0]).toEqual([clean.name, true]);
    }
  });
});

describe("the measure", () => {
  test("headwise's wasm engine passes rows of every heading", async () => {
    type Adapter = { open: (tools: object) => Promise<Engine> };
    const { open } = await module<Adapter>("./adapters/headwise-wasm.mjs");
    const { nodeTools } = await module<{ nodeTools: (features: object) => object }>("./runner/packages.mjs");
    const engine = await open(nodeTools(OFFERED));
    const checks: Check[] = [];
    await measure(engine, { rows: few(rows, 3), onnx: [] }, (check) => checks.push(check));
    engine.close!();
    expect(checks.filter(({ verdict }) => verdict !== "passed")).toEqual([]);
    const headings = new Set(checks.map(({ category }) => category));
    expect(CATEGORIES.filter((each) => !headings.has(each))).toEqual(["onnx", "memory"]);
  });

  const SMALL = /^(size-head-dim-\d$|grouped-4-over-2$|causal-upper-left-\d|mask-rank|peaked-256|isolation-nan)/;

  test("a result that a case does not ask for is not judged", async () => {
    const checks = await checksOf(seededEngine(), /^returns-probs-only$/);
    expect(checks.map(({ name }) => name)).not.toContain("returns-probs-only/lse");
    expect(checks.length).toBeGreaterThan(0);
  });

  test("an engine of plain loops passes what it offers, and the rest is refused", async () => {
    const checks = await checksOf(seededEngine(), SMALL);
    expect(checks.filter(({ verdict }) => verdict !== "passed" && verdict !== "refused")).toEqual([]);
    expect(checks.filter(({ verdict }) => verdict === "passed").length).toBeGreaterThan(20);
  });

  test.each<[Fault, Category]>([
    ["no maximum is subtracted", "large magnitudes"],
    ["hidden values are multiplied by zero", "isolation"],
    ["the mask is ignored", "boolean mask"],
    ["causality is off by one", "causal"],
    ["heads of a group are taken in turns", "gqa"],
    ["the scale is left out", "plain"],
    ["empty rows are the mean", "empty rows"],
    ["the output has one number too few", "plain"],
  ])("an engine with a fault is wrong: %s", async (fault, category) => {
    const checks = await checksOf(seededEngine(fault), SMALL);
    const wrong = checks.filter(({ verdict }) => verdict === "wrong");
    expect(wrong.map((check) => check.category)).toContain(category);
  });

  test("an engine whose weights have half the digits is imprecise or wrong, never passed", async () => {
    const checks = await checksOf(seededEngine("weights are rounded to 16 bits"), /^size-head-dim-\d$/);
    const outputs = checks.filter(({ name }) => name.endsWith("/output"));
    expect(outputs.map(({ verdict }) => verdict)).not.toContain("passed");
  });

  test("what an engine does not promise is never wrong", async () => {
    const fault = "hidden values are multiplied by zero";
    const engine: Engine = { ...seededEngine(fault), unpromised: ["isolation"] };
    const checks = await checksOf(engine, SMALL);
    expect(checks.map(({ verdict }) => verdict)).not.toContain("wrong");
    expect(checks).toContainEqual(expect.objectContaining({ verdict: "refused", note: "not promised: isolation" }));
  });

  test("a list of the largest probabilities with two keys exchanged is wrong", () => {
    const { query, key, value } = callOf({ name: "a", seed: 1, shape: { queryLength: 1, keyLength: 9, headDim: 4 } });
    const reference = referenceAttention(query, key, value, {});
    const p = Array.from(reference.probs.values);
    const indices = p.map((_, j) => j).sort((a, b) => p[b]! - p[a]!);
    const list = (order: readonly number[]) => ({
      indices: { data: order },
      values: { data: order.map((j) => p[j]!) },
    });
    const [first, second, third] = indices as [number, number, number];
    expect(judgeTopK(list([first, second, third]), 3, reference).verdict).toBe("passed");
    expect(judgeTopK(list([second, first, third]), 3, reference).verdict).toBe("wrong");
    expect(judgeTopK(undefined, 3, reference).verdict).toBe("wrong");
  });

  test("an engine that throws is refused, with what it says", async () => {
    const engine = { ...seededEngine(), attention: () => Promise.reject(new Error("no such kernel")) };
    const [check] = await checksOf(engine, /^size-head-dim-1$/);
    expect(check).toMatchObject({ verdict: "refused", note: "throws: Error: no such kernel" });
  });
});

describe("the folder", () => {
  interface Manifest {
    readonly files: readonly string[];
    readonly dependencies: object;
    readonly peerDependencies: object;
    readonly devDependencies: object;
  }
  const manifest = JSON.parse(read("package.json")) as Manifest;
  const { dependencies, peerDependencies, devDependencies } = manifest;
  const published = { ...dependencies, ...peerDependencies };
  const isPublished = (file: string) => manifest.files.includes(file.split("/")[0]!);

  const sources = readdirSync(new URL(".", import.meta.url), { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.(ts|mjs)$/.test(file) && !file.includes("node_modules"),
  );

  /** What a file imports, or takes by new URL, that is neither in the folder nor in package.json. */
  function foreign(file: string, text: string): string[] {
    const at = (name: string) => new URL(name, new URL(file, import.meta.url));
    const isHere = (url: URL) => url.href.startsWith(new URL(".", import.meta.url).href);
    const isInFolder = (name: string) =>
      isHere(at(name)) && (existsSync(at(name)) || existsSync(at(name.replace(/\.js$/, ".ts"))));
    const packages = Object.keys(isPublished(file) ? published : { ...published, ...devDependencies });
    const isPackage = (name: string) => packages.some((each) => name === each || name.startsWith(`${each}/`));
    // a name that begins with a slash is an address of the page's own server
    const imports = [...text.matchAll(/\b(?:from|import)\s*\(?\s*"([^"/][^"]*)"/g)].map(([, name]) => name!);
    const places = [...text.matchAll(/new URL\("([^"]+)", import\.meta\.url\)/g)].map(([, name]) => name!);
    return [
      ...imports.filter((name) =>
        name.startsWith(".") ? !isInFolder(name) : !/^node:/.test(name) && !isPackage(name),
      ),
      ...places.filter((name) => !isHere(at(name))),
    ];
  }

  test("stands alone: every import is in it, of Node or of its package.json", () => {
    expect(sources.length).toBeGreaterThan(30);
    const found = sources.flatMap((file) => foreign(file, read(file)).map((name) => `${file}: ${name}`));
    expect(found).toEqual([]);
  });

  test.each([
    ["measure/a.ts", "../../web/reference.js"],
    ["measure/a.ts", "./none.js"],
    ["runner/a.mjs", "ajv"], // a development dependency
  ])("an import from outside is found: %s, %s", (file, name) => {
    expect(foreign(file, `import { x } from ${JSON.stringify(name)};`)).toEqual([name]);
    expect(foreign(file, `await import(${JSON.stringify(name)})`)).toEqual([name]);
  });

  test("a place outside is found", () => {
    const name = "../../../dist/";
    expect(foreign("runner/a.mjs", `new URL(${JSON.stringify(name)}, import.meta.url)`)).toEqual([name]);
  });
});

describe("the scoreboard", () => {
  test("scoreboard.md is what scoreboard.json renders to", async () => {
    type Render = { renderScoreboard: (board: unknown, confirmed: unknown) => string };
    const { renderScoreboard } = await module<Render>("./runner/render.mjs");
    const board = JSON.parse(read("scoreboard.json")) as { headings: string[] };
    expect(renderScoreboard(board, JSON.parse(read("confirmed.json")))).toBe(read("scoreboard.md"));
    expect(board.headings).toEqual([...CATEGORIES]);
  });

  test("a verdict that nobody confirmed is not printed", async () => {
    type Render = { renderScoreboard: (board: unknown, confirmed: unknown) => string };
    const { renderScoreboard } = await module<Render>("./runner/render.mjs");
    const wrong = { count: 3, largest: "Infinity", examples: [{ name: "a", error: "Infinity", note: "b" }] };
    const run = { adapter: "other", engine: "other", runner: "node", version: "1", platform: "Node 20", command: "c" };
    const board = { suite: "1", headings: ["plain"], runs: [{ ...run, categories: { plain: { wrong } } }] };
    expect(renderScoreboard(board, [])).toContain("| plain | 3 not confirmed |");
    const confirmed = {
      adapters: ["other"],
      title: "other",
      version: "1",
      headings: ["plain"],
      finding: "",
    };
    expect(renderScoreboard(board, [confirmed])).toContain("| plain | **3 wrong** (∞) |");
  });

  test("an adapter has at most 50 lines", () => {
    const files = readdirSync(new URL("adapters/", import.meta.url)).filter((file) => file !== "onnxModel.mjs");
    const long = files.filter((file) => read(`adapters/${file}`).trimEnd().split("\n").length > 50);
    expect(long).toEqual([]);
  });
});
