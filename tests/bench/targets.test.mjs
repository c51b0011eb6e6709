import { describe, expect, test } from "@jest/globals";

import { CASES } from "./harness/cases.mjs";
import { describe as text, shareGoal, targetsOf } from "./targets.mjs";

const named = (name) => CASES.find((shape) => shape.name === name);

const record = (name, { share = 0.9, milliseconds = 10, ...more } = {}) => ({
  ...{ case: name, group: named(name).group, milliseconds, initMilliseconds: 20, outside: 0, peers: {} },
  inside: { milliseconds, share },
  ...more,
});

const run = (records, more = {}) => ({ variant: "relaxed", threads: 1, records, ...more });
const linesOf = (records, more, inBrowser = false) => targetsOf(run(records, more), [], inBrowser).map(text);

describe("the goal for the share of the roof", () => {
  test.each([
    ["8×2048×128", 0.8],
    ["causal 32/8×2048×128", 0.8],
    ["BERT 12×512×64", 0.75],
    ["window 1024 of cache 16/4×512×64", 0.75],
    ["two documents 12×1024×64", 0.75],
    ["BERT 12×128×64", 0.7],
    ["ViT 12×197×64", 0.7],
    ["ragged batch 8, 12 heads×64", 0.7],
    ["decode 14/2×8192×64 float32", 0.75],
    ["16 rows 32/8×8192×128", 0.75],
    ["layer 768→12×64→768 at 512", 0.8],
    ["layer 768 at 512, rotary", 0.83],
    ["layer 768→12×64, 1 token", 0.75],
  ])("of %s is %d", (name, goal) => expect(shareGoal(named(name))[1]).toBe(goal));

  test.each([
    ...["half holes 12×512×64", "top 8 of 12×512×64", "memory 1×65536×64", "decode 32/8×8192×128 int8"],
    ...CASES.filter(({ group }) => group === "small calls").map(({ name }) => name),
  ])("of %s does not exist", (name) => expect(shareGoal(named(name))).toBeUndefined());

  test("is met by a class only if its worst case meets it, and names that case", () => {
    const lines = linesOf([
      record("BERT 12×512×64", { share: 0.9 }),
      record("causal 12×1024×64", { share: 0.74 }),
      record("8×2048×128", { share: 0.81 }),
    ]);
    expect(lines).toContain(
      "  missed narrower heads from 256 rows on, least share of the roof, inside (causal 12×1024×64; 1 of 2 met): 0.74, goal ≥ 0.75",
    );
    expect(lines).toContain(
      "  met    heads of 128 and more, least share of the roof, inside (8×2048×128; 1 of 1 met): 0.81, goal ≥ 0.8",
    );
  });

  test("looks at the time without copies", () => {
    const slow = record("BERT 12×128×64", { share: 0.71, roofline: { share: 0.3 } });
    expect(linesOf([slow])[0]).toMatch(/^ {2}met .*: 0\.71, goal ≥ 0\.7$/);
  });
});

test("small caches are compared with float32 beyond the third-level cache, without copies", () => {
  const decode = (cache, milliseconds, keys = 32768) => record(`decode 32/8×${keys}×128 ${cache}`, { milliseconds });
  const lines = linesOf([decode("float32", 20), decode("int8", 18), decode("float16", 21), decode("int8", 90, 8192)]);
  expect(lines).toContain("  met    decode 32/8×32768×128 int8 ÷ float32: 0.90, goal ≤ 1");
  expect(lines).toContain("  missed decode 32/8×32768×128 float16 ÷ float32: 1.05, goal ≤ 1");
});

test("positions may cost a layer 3 percent, and the slowest kind counts", () => {
  const layers = (rotary) => [
    record("layer 768→12×64→768 at 512", { milliseconds: 100 }),
    record("layer 768 at 512, learned", { milliseconds: 101 }),
    record("layer 768 at 512, rotary", { milliseconds: rotary }),
  ];
  expect(linesOf(layers(102))).toContain("  met    layer with positions ÷ without: 1.02, goal ≤ 1.03");
  expect(linesOf(layers(110))).toContain("  missed layer with positions ÷ without: 1.10, goal ≤ 1.03");
  expect(linesOf(layers(110).slice(1)).join()).not.toContain("÷ without");
});

test("a layer is compared with ONNX Runtime where that was measured; layers of one token are not", () => {
  const beside = (name, ratio) => record(name, { peers: { ort: { ratio } } });
  const lines = linesOf([
    beside("layer 768→12×64→768 at 512", 1.7),
    beside("layer 768 at 512, rotary", 1.5),
    beside("layer 768→12×64, 1 token", 0.9),
    record("layer 768 at 512, learned"),
  ]);
  expect(lines).toContain("  missed layer, least × ONNX Runtime Web: 1.50, goal ≥ 1.6");
});

test("two threads gain less in a browser, by their goal", () => {
  const [single, double] = [10, 5.6].map((milliseconds) => [record("BERT 12×512×64", { milliseconds })]);
  const gain = (inBrowser) =>
    targetsOf(run(double, { threads: 2 }), [run(single)], inBrowser).find(({ name }) => name.includes("two threads"));
  expect(gain(false)).toMatchObject({ goal: 1.85, isMet: false });
  expect(gain(true)).toMatchObject({ goal: 1.75, isMet: true });
});

test("an instance in a worker has no goal for its start", () => {
  const start = (name) => linesOf([record(name, { initMilliseconds: 80 })]);
  expect(start("small linear 64→64")).toEqual(["  missed init, ms: 80.00, goal ≤ 50"]);
  expect(start("small linear 64→64, worker")).toEqual([]);
});

test("what was not measured has no goal", () => expect(linesOf([])).toEqual([]));

describe("the goals of gradients", () => {
  test("compare the gradient with the forward call, without copies", () => {
    const lines = linesOf([
      record("BERT 12×512×64", { milliseconds: 10 }),
      record("gradient 12×512×64", { milliseconds: 33, share: 0.71 }),
    ]);
    expect(lines).toContain("  missed gradient 12×512×64 ÷ BERT 12×512×64: 3.30, goal ≤ 3.2");
    expect(lines).toContain(
      "  met    gradients, least share of the roof, inside (gradient 12×512×64; 1 of 1 met): 0.71, goal ≥ 0.7",
    );
  });

  test("compare both together with peers that computed them", () => {
    const peers = { jax: { ratio: 2.5 }, tfjs: { ratio: 9 } };
    const lines = linesOf([record("with gradient 12×512×64", { peers })]);
    expect(lines).toEqual(
      expect.arrayContaining([
        "  met    with gradient 12×512×64, × jax: 2.50, goal ≥ 2",
        "  missed with gradient 12×512×64, × tfjs: 9.00, goal ≥ 10",
      ]),
    );
    expect(linesOf([record("with gradient 12×512×64")]).filter((line) => line.includes("×64, ×"))).toEqual([]);
  });
});
