import { describe, expect, test } from "@jest/globals";

import { FEATURE } from "../../web/src/webgpu/kernels/params.js";
import { planAttention, type AttentionPlan } from "../../web/src/webgpu/plan/plan.js";
import { type AttentionFacts } from "../../web/src/webgpu/plan/facts.js";
import { gridOf, type Limits } from "../../web/src/webgpu/plan/limits.js";
import { ALL, DESKTOP, facts, SMALLEST } from "./planFacts.js";

/** The parts of a plan that decide its speed, short enough to read. */
function summary({ attend, inspect, packed, stored, narrow, bytes, multiplyAdds }: AttentionPlan) {
  return {
    packed: Object.entries(packed).filter(([, yes]) => yes).map(([name]) => name), // oxfmt-ignore
    stored: `${stored.query} query, ${stored.stored} keys and values`,
    attend: attend && {
      kernel: attend.attend.kernel.name,
      together: attend.attend.kernel.constants["TOGETHER"],
      halves: attend.attend.kernel.halves ?? false,
      tile: `${attend.tiles.queryRows} rows x ${attend.tiles.keys} keys x ${attend.tiles.valueColumns} columns`,
      threads: attend.tiles.threads,
      workgroupBytes: attend.tiles.workgroupBytes,
      workgroups: attend.attend.workgroups,
      keyParts: attend.keyParts,
      options: attend.attend.kernel.constants["OPTIONS"],
    },
    inspect: inspect.map(({ stage, heads, queries, rowsPerStep }) => ({ stage, heads, queries, rowsPerStep })),
    narrowed: narrow !== undefined,
    megabytes: bytes / 2 ** 20,
    gigaMultiplyAdds: multiplyAdds / 2 ** 30,
  };
}

const { mask, bias, halfBias, alibi, softcap, sinks } = FEATURE;

describe("plans", () => {
  test.each<[string, AttentionFacts, Limits]>([
    ["prefill on a desktop GPU", facts({}), DESKTOP],
    ["prefill within the smallest limits", facts({}), SMALLEST],
    ["decode over a long cache", facts({ numHeads: 32, numKvHeads: 8, queryLength: 1, keyLength: 32768, headDim: 128, valueDim: 128 }), DESKTOP],
    ["decode over an int8 ring with subgroups", facts({ batchSize: 4, numHeads: 32, numKvHeads: 8, queryLength: 1, keyLength: 2048, headDim: 128, valueDim: 128 }, { dtypes: { query: "float32", key: "int8", value: "int8" }, inPlace: ["key", "value"], ring: true }), { ...DESKTOP, together: 8, halves: true }],
    ["wide heads in decode, a row at a time", facts({ numHeads: 8, numKvHeads: 1, queryLength: 1, keyLength: 300, headDim: 1000, valueDim: 600 }), SMALLEST],
    ["heads too wide for decode", facts({ numHeads: 1, queryLength: 1, keyLength: 300, headDim: 1028 }), SMALLEST],
    ["halves on a device that holds them", facts({}, { dtypes: { query: "float16", key: "float16", value: "float16" }, output: "float16" }), { ...DESKTOP, together: 4, halves: true }],
    ["a short call with every option", facts({ numHeads: 4, queryLength: 10, keyLength: 20 }, { settingFeatures: mask + bias + halfBias + alibi + softcap + sinks }), DESKTOP],
    ["odd widths and halves", facts({ headDim: 17, valueDim: 300, queryLength: 100 }, { dtypes: { query: "float16", key: "float16", value: "float16" }, output: "float16" }), DESKTOP],
    ["halves that lie well", facts({}, { dtypes: { query: "float16", key: "float16", value: "float16" }, output: "float16" }), DESKTOP],
    ["only looking", facts({ queryLength: 512, keyLength: 512 }, { wanted: { output: false, probs: { ...ALL, average: true }, topK: { k: 5, selection: ALL }, lse: false, entropy: false, scores: undefined } }), DESKTOP],
  ])("%s", (_, call, limits) => {
    expect(summary(planAttention(call, limits))).toMatchSnapshot();
  }); // oxfmt-ignore

  test("no tile asks for more than the smallest device has", () => {
    for (const queryLength of [1, 16, 17, 4096])
      for (const valueDim of [1, 33, 64, 96, 128, 129, 1024]) {
        const { attend } = planAttention(facts({ numHeads: 1, numKvHeads: 1, queryLength, valueDim }), SMALLEST);
        expect(attend!.tiles.workgroupBytes).toBeLessThanOrEqual(SMALLEST.maxComputeWorkgroupStorageSize);
        expect(attend!.tiles.threads).toBeLessThanOrEqual(SMALLEST.maxComputeInvocationsPerWorkgroup);
      }
  });

  const WIDTHS = [64, 80, 96, 128, 256];
  const MEMORIES = [16384, 32768, 49152, 65536];

  test.each(["narrow", "wide"] as const)(
    "every register tile of %s shares its loads evenly and has room for flags",
    (tiling) => {
      const tiles = new Set<string>();
      for (const headDim of WIDTHS)
        for (const valueDim of WIDTHS)
          for (const maxComputeWorkgroupStorageSize of MEMORIES)
            for (const dtype of ["float32", "float16"] as const) {
              const limits = { ...DESKTOP, tiling, maxComputeWorkgroupStorageSize, halves: true };
              const dtypes = { query: dtype, key: dtype, value: dtype };
              const { attend } = planAttention(facts({ headDim, valueDim }, { dtypes }), limits);
              const { name, constants } = attend!.attend.kernel;
              if (name !== "attend_whole") continue;
              const at = (name: string) => Number(constants[name]);
              expect(attend!.tiles.workgroupBytes).toBeLessThanOrEqual(maxComputeWorkgroupStorageSize);
              for (const number of [at("DEPTH4"), at("KEY_LOADS"), at("VALUE_LOADS"), at("CHUNK_KEYS") / 8])
                expect([headDim, valueDim, number % 1]).toEqual([headDim, valueDim, 0]);
              // attend_whole.wgsl: flags of keys, of values and of queries; statistics of two keys for each lane
              expect(at("GROUPS")).toBeGreaterThanOrEqual(Math.max(4, 2 + (at("ROWS") - 1) / at("KEYS")));
              expect(at("KEYS")).toBeGreaterThanOrEqual(2 * at("LANES"));
              expect(at("R") * at("C")).toBeLessThanOrEqual(32);
              tiles.add([at("THREADS"), at("LANES"), at("CHUNK4")].join());
            }
      expect(tiles.size).toBeGreaterThan(3);
    },
  );

  test.each([
    ["narrow", facts({}), 16],
    ["wide", facts({}), 8],
    ["general", facts({}), 8],
    ["narrow", facts({ queryLength: 1, keyLength: 4096 }), 8],
  ] as const)("%s combines no more invocations in a subgroup than share a row", (tiling, call, together) => {
    const { attend } = planAttention(call, { ...DESKTOP, tiling, together: 16 });
    expect(attend!.attend.kernel.constants["TOGETHER"]).toBe(together);
  });

  test("parts of the keys depend on the shape alone", () => {
    const long = facts({ numHeads: 2, queryLength: 1, keyLength: 10000 });
    const parts = (limits: Limits) => {
      const { keyParts, keysPerPart } = planAttention(long, limits).attend!;
      return { keyParts, keysPerPart };
    };
    expect(parts(SMALLEST)).toEqual(parts(DESKTOP));
    expect(parts(DESKTOP).keyParts).toBeGreaterThan(8);
    expect(parts(DESKTOP).keyParts * parts(DESKTOP).keysPerPart).toBeGreaterThanOrEqual(10000);
  });

  test.each<[string, AttentionFacts, RegExp]>([
    ["an input over the binding size", facts({ keyLength: 2 ** 22 }), /key needs a buffer of \d+ bytes, over the device's maxStorageBufferBindingSize of 134217728/],
    ["dense probabilities over it", facts({}, { wanted: { ...facts({}).wanted, probs: ALL } }), /probs needs a buffer of 1073741824 bytes/],
  ])("%s is refused with the limit's name", (_, call, message) => {
    expect(() => planAttention(call, SMALLEST)).toThrow(message);
  }); // oxfmt-ignore

  const HALF = { query: "float16", key: "float16", value: "float16" } as const;

  test.each([
    ["float16 beside float32 keys", { ...HALF, key: "float32", value: "float32" }, ["query"]],
    ["float16 beside float16 keys", HALF, []],
    ["float32 beside float16 keys", { ...HALF, query: "float32" }, []],
    ["float16 beside keys that must be packed", { ...HALF, value: "float32" }, ["query", "key"]],
  ] as const)("a query of %s: what is packed", (_, dtypes, packed) => {
    expect(summary(planAttention(facts({}, { dtypes }), DESKTOP)).packed).toEqual(packed);
  });

  const NOTHING = { output: false, probs: undefined, topK: undefined, lse: false, entropy: false, scores: undefined };

  test.each([
    ["the largest probabilities alone", { wanted: { ...NOTHING, topK: { k: 5, selection: ALL } } }, true],
    ["probabilities alone", { wanted: { ...NOTHING, probs: ALL } }, true],
    ["scores alone", { wanted: { ...NOTHING, scores: { stage: "raw", selection: ALL } } }, false],
    ["scores, with an error for an empty row", { wanted: { ...NOTHING, scores: { stage: "raw", selection: ALL } }, emptyRows: "throw" }, true],
  ] as const)("%s: whether the sums of rows are computed", (_, rest, isComputed) => {
    expect(planAttention(facts({}, rest), DESKTOP).attend !== undefined).toBe(isComputed);
  }); // oxfmt-ignore

  test("dropout takes no memory where scores are looked at, which have none", () => {
    const scores = { ...NOTHING, scores: { stage: "raw", selection: ALL } } as const;
    const inspected = (dropout: boolean, wanted: AttentionFacts["wanted"]) =>
      planAttention(facts({ queryLength: 64, keyLength: 3000 }, { wanted, dropout }), SMALLEST).inspect;
    expect(inspected(true, scores)).toEqual(inspected(false, scores));
    const probs = { ...NOTHING, probs: ALL };
    expect(inspected(true, probs)).not.toEqual(inspected(false, probs));
  });

  test("a kernel goes over chunks of keys or values only where a tile holds several", () => {
    const seen = new Set<string>();
    for (const tiling of ["narrow", "wide"] as const)
      for (const width of [64, 80, 256]) {
        const call = facts({ numHeads: 1, headDim: width, valueDim: width });
        const { constants } = planAttention(call, { ...DESKTOP, tiling }).attend!.attend.kernel;
        for (const name of ["KEY", "VALUE"]) {
          const isSeveral = Number(constants[`${name}_CHUNKS`]) > 1;
          expect([tiling, width, constants[`${name}S_IN_CHUNKS`]]).toEqual([tiling, width, Number(isSeveral)]);
          seen.add(`${name} ${isSeveral}`);
        }
      }
    expect([...seen].sort()).toEqual(["KEY false", "KEY true", "VALUE false", "VALUE true"]);
  });

  test("a grid of more workgroups than a dimension holds has two", () => {
    const [x, y] = gridOf("test", "attend", 100_000, SMALLEST);
    expect([x <= 65535, y <= 65535, x * y >= 100_000]).toEqual([true, true, true]);
    expect(() => gridOf("test", "attend", 2 ** 33, SMALLEST)).toThrow(/maxComputeWorkgroupsPerDimension of 65535/);
  });
});
