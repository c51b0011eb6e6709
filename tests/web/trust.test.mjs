// The table of trust: its rows, how they count, and the way in which soak tells growth from noise.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { describe, expect, test } from "@jest/globals";

import { trustCounts } from "../../web/build/counts.mjs";
import { faultsOf, figureOf, matrixOf } from "../trust/engines/matrix.mjs";
import { resultOf as resultOfWay } from "../trust/engines/ways.mjs";
import { llvmTool } from "../trust/coverage/cpp.mjs";
import { united } from "../trust/coverage/united.mjs";
import { jest, reportOf } from "../trust/programs.mjs";
import { merged } from "../trust/record.mjs";
import { resultOf } from "../trust/result.mjs";
import { partOf, tableOf } from "../trust/table.mjs";
import { rows } from "../trust/rows/index.mjs";
import { plateau, smallestSeen } from "../trust/soak/plateau.mjs";

const text = (file) => readFileSync(file, "utf8");

describe("rows", () => {
  test.each(rows.map((row) => [row.name, row]))("%s says what it is about, its goal and its budgets", (name, row) => {
    expect(name).toMatch(/^[a-z][a-z-]*$/);
    for (const part of [row.what, row.goal]) expect(part).toMatch(/^\S.*\S$/);
    expect(row.minutes.quick).toBeGreaterThan(0);
    expect(row.minutes.whole).toBeGreaterThanOrEqual(row.minutes.quick);
  });

  test("have different names, and each has a section in tests/trust/README.md", () => {
    const names = rows.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const sections = [...text("tests/trust/README.md").matchAll(/^### (.*)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(expect.arrayContaining(names));
  });

  test("have budgets of at most 8 minutes together with --quick, and 100 in full", () => {
    const total = (kind) => rows.reduce((sum, { minutes }) => sum + minutes[kind], 0);
    expect(total("quick")).toBeLessThanOrEqual(8);
    expect(total("whole")).toBeLessThanOrEqual(100);
  });
});

test("Jest that ends before it is through has failed, whatever an earlier run has reported", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-trust-"));
  const earlier = { numPassedTests: 5, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, numRuntimeErrorTestSuites: 0 }; // oxfmt-ignore
  writeFileSync(path.join(folder, "jest.json"), JSON.stringify(earlier));
  // Node ends at once. Jest itself, without tests, writes a report or not: that depends on where its output goes.
  const ended = jest(folder, ["tests/web"], {}, [], { flags: ["--no-such-flag"] });
  await expect(ended).rejects.toThrow("ended before they were through");
  rmSync(folder, { recursive: true });
});

const options = { quick: true, seed: 3 };
const rowThat = (measure) => ({
  name: "test-of-the-table",
  what: "a row of a test",
  goal: "none",
  minutes: { quick: 1, whole: 2 },
  measure,
});

describe("a result", () => {
  test("of a row that throws is a failure with the message as its figure", async () => {
    const result = await resultOf(
      rowThat(() => Promise.reject(new Error("no such browser"))),
      options,
    );
    expect(result).toMatchObject({ name: "test-of-the-table", verdict: "failed", figure: "no such browser" });
  });

  test("of a program that fails is the line that names its error, without a folder of this machine", async () => {
    const root = process.cwd();
    const message = `Command failed: ${root}/page.mjs\n${root}/wait.js:46\n  throw new TimeoutError();\n\nTimeoutError: 9 ms, in ${root}/a.mjs\n    at ${root}/a.mjs:2\n\nNode.js v20\n`;
    const result = await resultOf(
      rowThat(() => Promise.reject(new Error(message))),
      options,
    );
    expect(result.figure).toBe("TimeoutError: 9 ms, in a.mjs");
    const unnamed = await resultOf(
      rowThat(() => Promise.reject(new Error(`${root}/b ended | with 1\nmore`))),
      options,
    );
    expect(unnamed.figure).toBe("b ended \\| with 1");
  });

  test("is what the row measured, in an empty folder of its own", async () => {
    const measure = ({ isQuick, seed, folder }) => ({
      verdict: "held",
      figure: `${isQuick} ${seed} ${existsSync(folder)}`,
    });
    expect(await resultOf(rowThat(measure), options)).toMatchObject({ verdict: "held", figure: "true 3 true" });
  });

  test("counts as one test that passed, failed or was skipped; a missing report as an error", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headwise-trust-"));
    const report = path.join(folder, "trust.json");
    expect(() => trustCounts(report)).toThrow("no report");
    writeFileSync(
      report,
      JSON.stringify({ results: [{ verdict: "held" }, { verdict: "held" }, { verdict: "skipped" }] }),
    );
    expect(trustCounts(report)).toEqual({ passed: 2, failed: 0, skipped: 1 });
    rmSync(folder, { recursive: true });
  });

  test("that holds above the goal of time is no yes in the table", () => {
    const result = { name: "a", what: "b", goal: "c", figure: "d", verdict: "held", isQuick: false };
    const signOf = (more) => partOf({ results: [{ ...result, ...more }] }).rows.a[3];
    expect(signOf({})).toBe("yes");
    expect(signOf({ without: "the audit" })).toBe("yes, without the audit");
    expect(signOf({ isLate: true })).toBe("right, but **not in time**");
    expect(signOf({ isLate: true, verdict: "failed" })).toBe("**no**");
  });

  test("says when and where its row was measured: other rows may be older, and of another machine", () => {
    const report = { date: "2026-01-02", machine: "a machine", results: [{ name: "a" }] };
    expect(partOf(report).rows.a.at(-1)).toBe("2026-01-02, a machine");
    expect(tableOf(report)).toMatch(/\n\nMeasured by `npm run trust -- --record`\.\n$/);
  });

  test("takes the place of the older result of its row; results of rows that are gone are dropped", () => {
    const [{ name }] = rows;
    const old = { gone: ["old"], [name]: ["old"] };
    expect(merged(old, { [name]: ["new"] })).toEqual({ [name]: ["new"] });
    expect(merged(old, {})).toEqual({ [name]: ["old"] });
  });
});

describe("engines", () => {
  const passed = { passed: 2000, failed: 0, examples: [] };
  const failed = { passed: 1999, failed: 1, examples: ["causal-3/output wrong 70"] };
  /** What a browser gave: these results, and no fault in all other ways. */
  const browser = (...results) => {
    const resultIn = (name) => results.find((each) => each.name === name) ?? { name, isPossible: true, ...passed };
    return [{ place: "Browser", version: "1.2", results: ["simd", "relaxed", "threads", "webgpu"].map(resultIn) }];
  };
  const made = { date: "2026-01-02", machine: "headwise 1, a machine", isQuick: false };

  /** The cells of a place in the table, without its name. */
  const cells = (outcomes, place) => matrixOf(outcomes, made).rows[place].slice(1);

  test("a failed check is a fault, named in the figure and in the table", () => {
    const outcomes = browser({ name: "relaxed", isPossible: true, ...failed });
    expect(faultsOf(outcomes)).toEqual([
      expect.stringContaining("relaxed SIMD: 1 checks failed (causal-3/output wrong"),
    ]);
    expect(figureOf(outcomes)).toContain("causal-3/output wrong");
    expect(cells(outcomes, "Browser").slice(0, 2)).toEqual(["2,000", "**1 of 2,000 failed**"]);
  });

  test("a way that the engine lacks is no fault, and the table says why; one that only headwise lacks is a fault", () => {
    const absent = { name: "threads", absent: "no SharedArrayBuffer" };
    const [lacking, refusing] = [false, true].map((isPossible) => browser({ ...absent, isPossible }));
    expect(faultsOf(lacking)).toEqual([]);
    expect(cells(lacking, "Browser")[2]).toBe("no");
    expect(matrixOf(lacking, made).notes).toContain("Browser 1.2, two threads: no SharedArrayBuffer");
    expect(faultsOf(refusing)).toEqual([expect.stringMatching(/the engine has it, but .*no SharedArrayBuffer/)]);
  });

  test("a browser that is not installed is no fault, and says so; a page that fails, or checks nothing, is one", () => {
    const missing = [{ place: "Browser", missing: "it is not installed" }];
    expect(faultsOf(missing)).toEqual([]);
    expect(cells(missing, "Browser")).toEqual(Array(4).fill("not measured (it is not installed)"));
    expect(figureOf(missing)).toContain("Browser not measured (it is not installed)");
    const failing = browser({ name: "simd", failure: "no module" });
    expect(faultsOf(failing)).toEqual(["Browser 1.2, SIMD: no module"]);
    expect(faultsOf(browser({ name: "simd", isPossible: true, ...passed, passed: 0 }))).toHaveLength(1);
  });

  test("a way counts what passed and what did not, on the variant that it names", async () => {
    const judged = ["passed", "wrong", "imprecise", "passed"].map((verdict, n) => ({
      name: `case-${n}`,
      verdict,
      error: 9,
    }));
    const measure = (engine, suite, report) => judged.forEach((check) => report(check));
    const result = await resultOfWay("simd", { measure, OFFERED: [] }, []);
    expect(result).toMatchObject({ isPossible: true, passed: 2, failed: 2, report: { variant: "simd", threads: 1 } });
    expect(result.examples).toEqual(["case-1 wrong 9", "case-2 imprecise 9"]);
  });

  test("without a GPU, WebGPU is absent with a reason", async () => {
    const result = await resultOfWay("webgpu", { measure: () => {}, OFFERED: [] }, []);
    expect(result).toMatchObject({ isPossible: false, absent: expect.stringMatching(/navigator.gpu/) });
  });
});

describe("growth", () => {
  const rough = Array.from({ length: 40 }, (_, n) => 1000 * Math.sin(17 * n)); // ±1000 bytes of noise

  test("is 0 on a plateau, however rough it is", () => {
    expect(plateau(rough).growth).toBe(0);
  });

  test("is seen when a leak adds more than the noise between the middle and the last quarter", () => {
    const calls = 4000;
    const leak = 1.01 * smallestSeen(plateau(rough), calls);
    const leaking = rough.map((size, n) => size + (leak * calls * n) / rough.length);
    expect(plateau(leaking).growth).toBeGreaterThan(0);
  });

  test("is seen in a process that keeps a kilobyte for each call, and then only in its array buffers", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headwise-soak-"));
    const args = ["wasm", 800, 160, 1, 1024];
    const { samples, sampled, isSame } = await reportOf(folder, "soak", "tests/trust/soak/soak.mjs", args, 4);
    rmSync(folder, { recursive: true });
    const { growth } = plateau(samples.map(({ rough }) => rough["array buffers"]));
    expect(growth).toBeGreaterThan((1024 * sampled) / 8); // a quarter lies between the middle and the last quarter
    expect(new Set(samples.map(({ exact }) => JSON.stringify(exact))).size).toBe(1);
    expect(isSame).toBe(true);
  });
});

describe("coverage", () => {
  const programs = (process.env.PATH ?? "")
    .split(path.delimiter)
    .flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
  const isHere = programs.includes("clang++") && programs.some((name) => name.startsWith("llvm-profdata"));

  (isHere ? test : test.skip)("finds the tools of LLVM, which answer differently (skipped without clang)", () => {
    for (const name of ["llvm-profdata", "llvm-cov"]) expect(llvmTool(name)).toContain(name);
  });
});

describe("coverage that several reports have counted", () => {
  const branch = (start, count, more = {}) => ({ start, end: start + 5, count, ...more });
  const file = (sourcePath, lines, branches) => ({ sourcePath, data: { lines, branches } });

  test("a line or a branch is covered if one report says so, and a line of which a part has run is not", () => {
    const inNode = [
      file("a.ts", { 1: 3, 2: 0, 3: "1/2", 4: 0 }, [branch(10, 0), branch(20, 0)]),
      file("b.ts", { 1: 0 }, []),
    ];
    const inPages = [file("a.ts", { 1: 0, 2: 7, 3: "1/2", 4: 0 }, [branch(10, 2), branch(20, 0)])];
    const { lines, branches, files } = united([inNode, inPages]);
    expect(lines).toEqual({ covered: 2, total: 5 });
    expect(branches).toEqual({ covered: 1, total: 2 });
    expect(files.map(({ name }) => name)).toEqual(["a.ts", "b.ts"]);
  });

  test("an else that is not written is another branch than the whole; what only another report has does not count", () => {
    const inNode = [file("a.ts", { 1: 1 }, [branch(10, 4), branch(10, 0, { none: true })])];
    const direct = [file("a.ts", { 1: 1, 9: 1 }, [branch(10, 4), branch(33, 1)]), file("types.ts", { 1: 1 }, [])];
    expect(united([inNode, direct])).toMatchObject({
      lines: { covered: 1, total: 1 },
      branches: { covered: 1, total: 2 },
    });
  });
});
