// npm run mutation: which mutants there are, which are chosen, and how they count. Nothing is compiled here.

import { existsSync, readdirSync, readFileSync } from "node:fs";

import { describe, expect, test } from "@jest/globals";

import { cppAreas, typescriptAreas, typescriptTests } from "../trust/mutation/areas.mjs";
import { equivalents, reasonOf } from "../trust/mutation/known.mjs";
import { mutated, mutantsOf } from "../trust/mutation/operators.mjs";
import { outcomeOf } from "../trust/mutation/program.mjs";
import { sampleOf } from "../trust/mutation/sample.mjs";
import { markdownOf, scoreOf } from "../trust/mutation/score.mjs";

const text = (file) => readFileSync(file, "utf8");
const afterOf = (line) => mutantsOf("a.cpp", line).map(({ operator, after }) => [operator, after]);

describe("a mutant of C++", () => {
  test.each([
    ["relation", "return a < b;", "return a <= b;"],
    ["relation", "return a == b;", "return a != b;"],
    ["arithmetic", "const int c = a + b;", "const int c = a - b;"],
    ["assignment", "sum += x;", "sum -= x;"],
    ["logic", "return a && b;", "return a || b;"],
    ["negation", "return f(!a);", "return f(a);"],
    ["condition", "if (f(a, g(b))) return c;", "if (!(f(a, g(b)))) return c;"],
    ["off by one", "for (int j = 0; j != n; ++j) f(j);", "for (int j = 1; j != n; ++j) f(j);"],
    ["constant", "const float f = 1.0f;", "const float f = 0.0f;"],
    ["truth", "return false;", "return true;"],
    ["extreme", "return std::min(a, b);", "return std::max(a, b);"],
    ["dropped statement", "*maximum = raised;", ";"],
    ["dropped statement", "store(a, b);", ";"],
  ])("is made by the operator %s: %s", (operator, before, after) => {
    expect(afterOf(before)).toContainEqual([operator, after]);
  });

  test("is not made of comments, texts, directives, templates, declarations or constants of speed", () => {
    const lines = [
      "// a < b and 1.0",
      'say("a < b && 0");',
      "#if A < B",
      "template <int n = 1>",
      "Floats<Arch> v;",
      "constexpr std::int64_t kRows = 64;",
    ];
    expect(lines.flatMap(afterOf)).toEqual([["dropped statement", ";"]]); // of say()
  });

  test("changes one line, and only that", () => {
    const lines = "int f(int a) {\n  if (a < 3) a += 1;\n  if (a < 3) a += 1;\n}\n";
    const mutants = mutantsOf("a.cpp", lines);
    expect(mutants.length).toBeGreaterThan(4);
    for (const mutant of mutants) {
      const [before, after] = [lines.split("\n"), mutated(lines, mutant).split("\n")];
      const changed = before.flatMap((line, n) => (line === after[n] ? [] : [n + 1]));
      expect(after.length).toBe(before.length);
      expect(changed).toEqual([mutant.line]);
    }
  });
});

describe("a sample", () => {
  const all = new Map(["a", "b", "c"].map((area, n) => [area, Array.from({ length: 5 + 10 * n }, (_, i) => area + i)]));

  test("is the same for a seed, and another one for another seed", () => {
    expect(sampleOf(all, 12, 3)).toEqual(sampleOf(all, 12, 3));
    expect(sampleOf(all, 12, 3)).not.toEqual(sampleOf(all, 12, 4));
  });

  test("has as many mutants of each area as there are, and none twice", () => {
    const sample = sampleOf(all, 21, 1);
    const count = (area) => sample.filter((mutant) => mutant.startsWith(area)).length;
    expect([count("a"), count("b"), count("c")]).toEqual([5, 8, 8]);
    expect(new Set(sample).size).toBe(21);
    expect(sampleOf(all, 1000, 1)).toHaveLength(45);
  });
});

describe("a program with a mutant", () => {
  const of = (code, seconds = 600) => outcomeOf(process.execPath, ["-e", code], { cwd: ".", seconds });

  test("passes or fails as its status says, with what it wrote", async () => {
    expect(await of("console.log('KILLED BY x'); process.exit(1)")).toEqual({
      outcome: "failed",
      output: "KILLED BY x\n",
    });
    expect(await of("console.log(1)")).toEqual({ outcome: "passed", output: "1\n" });
  });

  test("that writes without end has failed, and is ended", async () => {
    const { outcome, output } = await of(
      "const s = 'x'.repeat(2 ** 20); (function f() { process.stdout.write(s, f) })()",
    );
    expect(outcome).toBe("failed");
    expect(output.length).toBeLessThan(2 ** 27);
  });

  test("that does nothing without end is ended at its time", async () => {
    expect(await of("setInterval(() => {}, 1000)", 1)).toEqual({ outcome: "timeout", output: "" });
  });
});

describe("the score", () => {
  const resultOf = (outcome) => ({
    language: "cpp",
    area: "masks",
    file: "a.cpp",
    line: 7,
    operator: "logic",
    before: "a && b",
    after: "a || b",
    outcome,
  });
  const results = ["killed", "killed", "timeout", "survived", "equivalent", "not compiled"].map(resultOf);

  test("leaves out equivalent mutants and those that do not compile; a timeout is killed", () => {
    expect(scoreOf(results)).toBe(3 / 4);
    expect(scoreOf([resultOf("equivalent")])).toBeNaN();
  });

  test("is reported by area, with each survivor's place and diff", () => {
    const report = markdownOf({ command: "npm run mutation", machine: "a machine", results });
    expect(report).toContain("# Mutation score: 75.0 %");
    expect(report).toContain("| cpp | masks | 2 | 1 | 1 | 1 | 1 | 75.0 % |");
    expect(report.match(/^a\.cpp:7/gm)).toHaveLength(1);
    expect(report).toContain("- a && b\n+ a || b");
  });
});

describe("what is mutated", () => {
  const areas = [...cppAreas, ...typescriptAreas];

  test("exists, and is in one area only", () => {
    const files = areas.flatMap((area) => area.files);
    expect([...files, ...typescriptTests].filter((file) => !existsSync(file))).toEqual([]);
    expect(new Set(files).size).toBe(files.length);
  });

  test("of C++ meets suites that exist", () => {
    const tests = readdirSync("tests/cpp").filter((name) => /^test_.*\.cpp$/.test(name));
    const suites = new Set(
      tests.flatMap((name) =>
        [...text(`tests/cpp/${name}`).matchAll(/\bTEST(?:_[FP])?\((\w+),/g)].map(([, suite]) => suite),
      ),
    );
    const isKnown = (pattern) => {
      const words = new RegExp(`^${pattern.replace(/\.\*$/, "").replaceAll("*", ".*")}$`);
      return [...suites].some((suite) => words.test(suite));
    };
    expect(cppAreas.flatMap(({ suites }) => suites).filter((pattern) => !isKnown(pattern))).toEqual([]);
  });

  test("and is called equivalent has a reason, and is still in the file", () => {
    for (const { file, before, after, reason } of equivalents) {
      expect(text(file)).toContain(before);
      expect(reason).toMatch(/^\S.*\S$/);
      if (file.startsWith("cpp/"))
        expect(mutantsOf(file, text(file))).toContainEqual(expect.objectContaining({ before, after }));
      expect(reasonOf({ file, before, after })).toBe(reason);
    }
  });
});
