import { describe, expect, test } from "@jest/globals";

import { compare, comparisonLines } from "./compare.mjs";

const record = (name, milliseconds, { group = "dense", spread = 0.03, share, ...more } = {}) => ({
  ...{ case: name, group, milliseconds, spread, operations: 100, bytes: 10, ...more },
  ...(share && { roofline: { share } }),
});

const saved = (records, more = {}) => ({
  date: "2026-01-01T00:00:00.000Z",
  load: 0.1,
  machine: { cpu: "a chip", cores: 2, engine: "Node 20" },
  options: { rounds: 7, peers: ["ort"] },
  runs: [{ name: "relaxed SIMD, 1 thread", records }],
  ...more,
});

const rowsOf = (before, now) => compare(saved(before), saved(now)).runs[0].rows;

describe("a case", () => {
  test("has the ratio of its times, and both spreads as the root of their squares", () => {
    const [row] = rowsOf([record("a", 10, { spread: 0.03 })], [record("a", 15, { spread: 0.04 })]);
    expect(row).toMatchObject({ before: 10, now: 15, ratio: 1.5 });
    expect(row.spread).toBeCloseTo(0.05, 12);
  });

  test.each([
    [10, 10, "within the spread"],
    [10, 10.49, "within the spread"],
    [10.49, 10, "within the spread"],
    [10, 10.6, "slower"],
    [10.6, 10, "faster"],
  ])("that took %d ms and takes %d ms, each ± 3 and 4 %%, is %s", (before, now, verdict) => {
    const [row] = rowsOf([record("a", before, { spread: 0.03 })], [record("a", now, { spread: 0.04 })]);
    expect(row.verdict).toBe(verdict);
  });

  test("that was measured once is not judged, unless nothing changed", () => {
    const once = { spread: 0 };
    expect(rowsOf([record("a", 10, once)], [record("a", 11, once)])[0].verdict).toBe("measured once");
    expect(rowsOf([record("a", 10, once)], [record("a", 10, once)])[0].verdict).toBe("within the spread");
  });

  test.each([
    [12.5, 0.8, 0.8, "slower, as the machine is"], // the roof became slower by the same factor
    [12.5, 0.8, 0.64, "slower"], // the roof did not change
    [12.5, undefined, 0.8, "slower"],
    [10, 0.8, 0.8, "within the spread"],
    [10, 0.8, 0.7, "within the spread, though the machine is faster"],
    [10, 0.7, 0.8, "within the spread, though the machine is slower"],
  ])(
    "that took 10 ms and takes %d, at %p and %p of the roof, is %s",
    (milliseconds, shareBefore, shareNow, verdict) => {
      const [row] = rowsOf([record("a", 10, { share: shareBefore })], [record("a", milliseconds, { share: shareNow })]);
      expect(row.verdict).toBe(verdict);
      expect(row.shares).toBe(shareBefore && shareNow / shareBefore);
    },
  );

  test("of WebGPU has its share of the roof elsewhere", () => {
    const [row] = rowsOf([{ ...record("a", 10), share: 0.5 }], [{ ...record("a", 20), share: 0.25 }]);
    expect(row).toMatchObject({ shares: 0.5, verdict: "slower" });
  });

  test("whose work changed is another case", () => {
    const { rows, onlyBefore, onlyNow } = compare(
      saved([record("a", 10), record("gone", 1)]),
      saved([record("a", 10, { operations: 200 }), record("new", 1)]),
    ).runs[0];
    expect([rows, onlyBefore, onlyNow]).toEqual([[], ["a", "gone"], ["a", "new"]]);
  });

  test("without work, as an exit's time, is compared by its name", () => {
    const exit = (milliseconds) => ({ case: "exit", group: "times", milliseconds, spread: 0.1 });
    expect(rowsOf([exit(20)], [exit(21)])).toMatchObject([{ ratio: 1.05, verdict: "within the spread" }]);
  });
});

test("a group has the geometric mean of its ratios and shares, with the mean of its cases' spreads", () => {
  const before = [
    record("a", 10, { share: 0.5 }),
    record("b", 10, { share: 0.5 }),
    record("c", 1, { group: "decode" }),
  ];
  const now = [record("a", 20, { share: 0.25 }), record("b", 5, { share: 1 }), record("c", 4, { group: "decode" })];
  const [dense, decode] = compare(saved(before), saved(now)).runs[0].means;
  expect(dense).toMatchObject({ group: "dense", cases: 2, verdict: "within the spread" });
  expect(dense.ratio).toBeCloseTo(1, 12);
  expect(dense.shares).toBeCloseTo(1, 12);
  expect(dense.spread).toBeCloseTo(Math.hypot(0.03, 0.03), 12);
  expect(decode).toMatchObject({ group: "decode", ratio: 4, verdict: "slower" });
  expect(decode).not.toHaveProperty("shares");
});

test("only runs that both have are compared, each with its like", () => {
  const runs = (...names) => names.map((name, n) => ({ name, records: [record("a", 10 * (n + 1))] }));
  const { runs: compared } = compare(saved([], { runs: runs("x", "y") }), saved([], { runs: runs("y", "z") }));
  expect(compared.map(({ name, rows }) => [name, rows[0].ratio])).toEqual([["y", 0.5]]);
});

describe("a warning", () => {
  const warnings = (before, now) => compare(saved([], before), saved([], now)).warnings;
  const machine = { cpu: "a chip", cores: 2, engine: "Node 20" };

  test("is not given of two alike", () => expect(warnings({}, {})).toEqual([]));

  test("names what differs of machine, engine and options", () => {
    const now = { machine: { ...machine, cpu: "another", engine: "Node 24" }, options: { rounds: 3, peers: [] } };
    expect(warnings({}, now)).toEqual([
      'cpu: "a chip" before, "another" now',
      'engine: "Node 20" before, "Node 24" now',
      "rounds: 7 before, 3 now",
      'peers: ["ort"] before, [] now',
    ]);
  });

  test("says when a machine was busy", () => {
    expect(warnings({ load: 1.6 }, {})).toEqual(["the machine was busy on 2026-01-01T00:00:00.000Z: load 1.6"]);
  });
});

test("what is printed has a line for each case, group and warning", () => {
  const before = saved([record("BERT 12×128×64", 1.234, { share: 0.78 }), record("gone", 1)]);
  const now = saved([record("BERT 12×128×64", 1.5, { share: 0.64 }), record("new", 1)], { load: 1.9 });
  const lines = comparisonLines(compare(before, now)).join("\n");
  expect(lines).toContain("WARNING: the machine was busy");
  expect(lines).toMatch(/^BERT 12×128×64 +1\.23 +1\.50 +1\.216 +4% +78→64% +0\.821 +slower$/m);
  expect(lines).toMatch(/^ {2}dense \(1\): 1\.216 ± 4%, shares 0\.821: slower$/m);
  expect(lines).toMatch(/^Only before: gone\nOnly now: new$/m);
});

test("two files without a run in common say so", () => {
  const [before, now] = ["x", "y"].map((name) => saved([], { runs: [{ name, records: [] }] }));
  expect(comparisonLines(compare(before, now))).toEqual(["No configuration was measured both times."]);
});
