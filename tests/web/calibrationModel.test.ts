import { describe, expect, test } from "@jest/globals";

import type { AttentionProblem } from "../../web/src/attention/attentionProblem.js";
import { attentionKind } from "../../web/src/auto/attentionKind.js";
import { Choice } from "../../web/src/auto/choice.js";
import { secondsOfRun, stepOf } from "../../web/src/auto/clock.js";
import { fitted } from "../../web/src/auto/fit.js";
import { kernelSecondsOf } from "../../web/src/auto/kernelClock.js";
import { Numbers } from "../../web/src/auto/numbers.js";
import { race, raceProblem } from "../../web/src/auto/race.js";
import { Residence } from "../../web/src/auto/residence.js";
import { assumedSpeed, loadOf, predict, refined, type Speed } from "../../web/src/auto/speed.js";
import { visiblePairs, type VisibleSettings } from "../../web/src/auto/visible.js";
import { attentionWork, tilesOf, type Work } from "../../web/src/auto/work.js";
import { between, disturbed, ENGINES, randomDevice, secondsOf, type SyntheticEngine } from "./syntheticDevice.js";

const ALL: VisibleSettings = {
  causal: "none",
  window: { left: undefined, right: undefined },
  queryOffset: undefined,
  keyLengths: undefined,
  queryLengths: undefined,
};

const work = (moved: number, touched: number, multiplyAdds: number, tiles = 1000): Work => ({
  moved,
  touched,
  multiplyAdds,
  tiles,
});
const key = (name: string) => ({ kind: "attention", call: name });

/** The pairs, counted one by one by the formula of the contract. */
function countedPairs(queries: number, keys: number, settings: VisibleSettings, n = 0): number {
  const { causal, window, queryOffset, keyLengths, queryLengths } = settings;
  const keyLength = keyLengths?.[n] ?? keys;
  const queryLength = queryLengths?.[n] ?? queries;
  const offset = queryOffset?.[n] ?? (causal === "lower-right" ? keyLength - queryLength : 0);
  let pairs = 0;
  for (let i = 0; i < queryLength; ++i)
    for (let j = 0; j < keyLength; ++j) {
      const at = i + offset;
      const right = causal === "none" ? (window.right ?? Infinity) : 0;
      pairs += Number(j <= at + right && j >= at - (window.left ?? Infinity));
    }
  return pairs;
}

describe("the work of a call", () => {
  test("counts the pairs that causal masks, windows, offsets and lengths leave, as the formula does", () => {
    const numbers = new Numbers(1);
    const upTo = (most: number) => Math.floor(((numbers.next() + 1) / 2) * (most + 1));
    for (let n = 0; n < 300; ++n) {
      const [queries, keys] = [upTo(9), upTo(9)];
      const maybe = <T>(value: T) => (numbers.next() > 0 ? value : undefined);
      const settings: VisibleSettings = {
        causal: (["none", "upper-left", "lower-right"] as const)[upTo(2)]!,
        window: { left: maybe(upTo(5)), right: maybe(upTo(5)) },
        queryOffset: maybe(Int32Array.of(upTo(12) - 6)),
        keyLengths: maybe(Int32Array.of(upTo(keys))),
        queryLengths: maybe(Int32Array.of(upTo(queries))),
      };
      const shape = { batchSize: 1, queryLength: queries, keyLength: keys };
      expect([settings, visiblePairs(shape, settings)]).toEqual([settings, countedPairs(queries, keys, settings)]);
    }
  });

  test("counts each sequence of a ragged batch, and the queries of a cache at its end", () => {
    const ragged = { query: Int32Array.of(0, 2, 5), key: Int32Array.of(0, 4, 7) };
    const shape = { batchSize: 1, queryLength: 5, keyLength: 7 };
    expect(visiblePairs(shape, ALL, ragged)).toBe(2 * 4 + 3 * 3);
    expect(visiblePairs(shape, { ...ALL, causal: "lower-right" }, ragged)).toBe(3 + 4 + 1 + 2 + 3);
    const windowed = { ...ALL, window: { left: 1, right: undefined } };
    const step = { batchSize: 1, queryLength: 1, keyLength: 7 };
    expect([visiblePairs(step, windowed), visiblePairs(step, windowed, undefined, true)]).toEqual([7, 2]);
  });

  test("counts bytes of inputs and results in JavaScript, and products of queries, keys and values", () => {
    const problem = raceProblem({ heads: 2, queries: 3, keys: 5 }, 7, 11);
    expect(attentionWork(problem)).toEqual({
      moved: 4 * 2 * (3 * 7 + 5 * 7 + 5 * 11 + 3 * 11),
      touched: 0,
      multiplyAdds: 2 * 3 * 5 * (7 + 11),
      tiles: 2,
    });
    const inEngine = { ...problem, key: { ...problem.key, address: 64 } } as AttentionProblem;
    expect(attentionWork(problem).moved - attentionWork(inEngine).moved).toBe(4 * 2 * 5 * 7);
  });
});

const TRUE_SPEED: Speed = { start: 7e-4, byte: 1 / 3e9, operation: 1 / 4e11 };
const WORKS = [work(1e3, 0, 1e5), work(3e6, 0, 2e7), work(2e6, 0, 3e8), work(1.6e7, 0, 2e9)];
const timings = (speed: Speed, factors: readonly number[] = []) =>
  WORKS.map((done, n) => {
    const load = loadOf("webgpu", done);
    return { load, seconds: predict(speed, load) * (factors[n] ?? 1) };
  });

describe("a fit of three numbers", () => {
  test("finds the numbers that made the times", () => {
    const found = fitted(assumedSpeed("webgpu", 1), timings(TRUE_SPEED));
    for (const name of ["start", "byte", "operation"] as const)
      expect(Math.abs(Math.log(found[name] / TRUE_SPEED[name]))).toBeLessThan(0.1);
  });

  test("is hardly moved by a time that was disturbed", () => {
    const found = fitted(assumedSpeed("webgpu", 1), timings(TRUE_SPEED, [1, 1, 20, 1]));
    const load = loadOf("webgpu", WORKS[3]!);
    expect(Math.abs(Math.log(predict(found, load) / predict(TRUE_SPEED, load)))).toBeLessThan(0.25);
  });

  test("keeps what is assumed where the times say nothing, and every number above 0", () => {
    const assumed = assumedSpeed("webgpu", 1);
    for (const name of ["start", "byte", "operation"] as const)
      expect(fitted(assumed, [])[name] / assumed[name]).toBeCloseTo(1, 9);
    const [shortest] = timings({ ...TRUE_SPEED, start: 0.02 });
    const found = fitted(assumed, [shortest!]);
    expect(found.start).toBeCloseTo(0.02, 3);
    expect(Math.abs(Math.log(found.operation / assumed.operation))).toBeLessThan(0.1);
    for (const number of Object.values(fitted(assumed, timings(TRUE_SPEED, [1e-9, 1e9, 1e-9, 1e9])) as object))
      expect(number).toBeGreaterThan(0);
  });
});

describe("the times of real calls", () => {
  const assumed = assumedSpeed("webgpu", 1);

  test("bring the numbers to the truth, each in proportion to its part of the time", () => {
    let speed = assumed;
    for (let n = 0; n < 400; ++n) {
      const load = loadOf("webgpu", WORKS[n % WORKS.length]!);
      speed = refined(speed, load, predict(TRUE_SPEED, load), assumed);
    }
    for (const done of WORKS) {
      const load = loadOf("webgpu", done);
      expect(Math.abs(Math.log(predict(speed, load) / predict(TRUE_SPEED, load)))).toBeLessThan(0.1);
    }
  });

  test("move the numbers little if one call was disturbed, however much it was", () => {
    const load = loadOf("webgpu", WORKS[3]!);
    for (const seconds of [1e6, 1e-9, 0, NaN]) {
      const after = predict(refined(assumed, load, seconds, assumed), load);
      expect(Math.abs(Math.log(after / predict(assumed, load)))).toBeLessThan(0.15);
    }
  });
});

describe("a choice", () => {
  const both = work(0, 0, 1e9);

  test("takes the engine that is predicted to be faster", () => {
    const choice = new Choice(1);
    expect([choice.choose(key("small"), work(1e3, 0, 1e5)), choice.choose(key("large"), both)]).toEqual([
      "wasm",
      "webgpu",
    ]);
  });

  test("does not change for equal calls while the other engine is not faster by a quarter", () => {
    const choice = new Choice(1);
    const slower = (factor: number): Speed => ({ start: 1e-9, byte: 1e-12, operation: factor * 1e-10 });
    choice.setSpeed("wasm", slower(1));
    choice.setSpeed("webgpu", slower(0.95));
    expect(choice.choose(key("a"), both)).toBe("webgpu");
    for (const factor of [1.1, 0.9, 1.2, 1.05, 1.24]) {
      choice.setSpeed("webgpu", slower(factor));
      expect([factor, choice.choose(key("a"), both)]).toEqual([factor, "webgpu"]);
    }
    choice.setSpeed("webgpu", slower(1.3));
    expect(choice.choose(key("a"), both)).toBe("wasm");
    choice.setSpeed("webgpu", slower(0.9));
    expect(choice.choose(key("a"), both)).toBe("wasm");
  });

  test("predicts a call by the times of equal calls, and never by the first of its kind, which compiles", () => {
    const choice = new Choice(1);
    choice.learn("webgpu", key("a"), both, 100);
    expect(choice.calls("webgpu")).toBe(0);
    const seconds = choice.predict("webgpu", both);
    expect(choice.predict("webgpu", both, key("a"))).toBe(seconds);
    for (let n = 0; n < 40; ++n) choice.learn("webgpu", key("a"), both, 3 * seconds);
    expect(choice.predict("webgpu", both, key("a")) / seconds).toBeCloseTo(3, 1);
    expect(choice.calls("webgpu")).toBe(40);
  });
});

describe("the step of a clock", () => {
  /** A clock that shows multiples of a step, and passes a little with each read. */
  const clockOf = (step: number) => {
    let now = 0.1234;
    return () => {
      now += 5e-8;
      return Math.floor(now / step) * step;
    };
  };

  test.each([5e-6, 1e-4, 1e-3, 2e-3])("of %p s is found", (step) => {
    expect(stepOf(clockOf(step))).toBeCloseTo(step, 9);
  });

  test("of 16.7 and 100 ms is too long to wait for", () => {
    for (const step of [1 / 60, 0.1]) expect(stepOf(clockOf(step))).toBe(Infinity);
    expect(stepOf(() => 7)).toBe(Infinity);
  });

  test("a run is repeated until twenty steps have passed, and a time of zero is never one", async () => {
    let runs = 0;
    const run = () => Promise.resolve((++runs, runs % 4 === 0 ? 1e-3 : 0));
    expect(await secondsOfRun(run, 1e-3)).toBeGreaterThan(0);
    expect(runs).toBeGreaterThanOrEqual(64);
    expect(await secondsOfRun(() => Promise.resolve(0.5), 1e-3)).toBe(0.5);
  });
});

describe("the GPU's own clock", () => {
  const saying = (...seconds: (number | undefined)[]) => {
    let n = 0;
    return () => Promise.resolve(seconds[n++ % seconds.length]);
  };

  test("gives the mean of exact times, however short", async () => {
    expect(await kernelSecondsOf(saying(1.1e-5, 1.3e-5))).toBeCloseTo(1.2e-5, 9);
  });

  test.each([1e-4, 65_536e-9])("whose times are rounded to %p s counts only beside eight steps", async (step) => {
    expect(await kernelSecondsOf(saying(step, 0))).toBeUndefined();
    expect(await kernelSecondsOf(saying(4 * step, 5 * step))).toBeCloseTo(4.5 * step, 9);
  });

  test("is asked once by a GPU that takes long", async () => {
    let runs = 0;
    expect(await kernelSecondsOf(() => Promise.resolve((++runs, 0.0301)))).toBe(0.0301);
    expect(runs).toBe(1);
  });

  test("that does not exist or stands still says nothing", async () => {
    expect(await kernelSecondsOf(saying(undefined))).toBeUndefined();
    expect(await kernelSecondsOf(saying(0))).toBeUndefined();
  });

  /** A GPU that is far faster than the way to it: 3 ms and more for a call, products at 5 TFLOP/s. */
  async function raced(hasClock: boolean) {
    const numbers = new Numbers(3);
    const far: SyntheticEngine = { start: 3e-3, moves: 2e9, reads: 1e12, operations: 2.5e12, cores: 96 };
    const seconds = (problem: AttentionProblem, engine = far) => {
      const { numHeads: heads, queryLength: queries, keyLength: keys } = problem.shape;
      return secondsOf(engine, attentionWork(problem), { heads, queries, keys });
    };
    const choice = new Choice(16);
    return race({
      tilings: ["standard", "slower"],
      headDim: 64,
      valueDim: 64,
      around: { wasm: choice.assumed("wasm"), webgpu: choice.assumed("webgpu") },
      gpu: (tiling, problem) =>
        Promise.resolve(seconds(problem) * (1.5 + numbers.next() / 2) * (tiling === "slower" ? 0.9 : 1)),
      ...(hasClock && {
        kernels: (tiling: string, problem: AttentionProblem) =>
          Promise.resolve(seconds(problem, { ...far, start: 0, moves: Infinity }) * (tiling === "slower" ? 2 : 1)),
      }),
      wasm: (problem) => Promise.resolve(seconds(problem, { ...far, start: 2e-5, operations: 1e11 })),
    });
  }

  test("tells how fast the products are behind copies and waiting, and which tiling is faster", async () => {
    const [alone, timed] = [await raced(false), await raced(true)];
    expect(timed.webgpu.operation * 2.5e12).toBeLessThan(3);
    expect(alone.webgpu.operation).toBeGreaterThan(4 * timed.webgpu.operation);
    expect(timed.tiling).toBe("standard");
  });
});

test("The time that a GPU takes to compile is no part of its speed", async () => {
  const engine: SyntheticEngine = { start: 5e-4, moves: 4e9, reads: 2e12, operations: 2e13, cores: 132 };
  const choice = new Choice(16);
  const compiled = new Set<string>();
  const compile = (tiling: string, { shape }: AttentionProblem) => {
    const kernel = JSON.stringify([tiling, shape]);
    const seconds = compiled.has(kernel) ? 0 : 0.3;
    compiled.add(kernel);
    return seconds;
  };
  const seconds = (problem: AttentionProblem) => {
    const { numHeads: heads, queryLength: queries, keyLength: keys } = problem.shape;
    return secondsOf(engine, attentionWork(problem), { heads, queries, keys });
  };
  const { webgpu, race: results } = await race({
    tilings: ["narrow", "wide"],
    headDim: 128,
    valueDim: 128,
    around: { wasm: choice.assumed("wasm"), webgpu: choice.assumed("webgpu") },
    prepare: (tiling, problem) => Promise.resolve(void compile(tiling, problem)),
    gpu: (tiling, problem) => Promise.resolve(compile(tiling, problem) + seconds(problem)),
    wasm: (problem) => Promise.resolve(10 * seconds(problem)),
  });
  expect(webgpu.start).toBeLessThan(2 * engine.start);
  expect(results.filter(({ milliseconds }) => milliseconds["wide"] !== undefined).length).toBeGreaterThan(2);
});

test("Something moves when its calls would have gained by as much as the move costs, and never for less", () => {
  const residence = new Residence();
  const moves = (here: number, there: number) => residence.note(here, there, 1);
  expect([moves(0.5, 0.1), moves(0.5, 0.1), moves(0.5, 0.1)]).toEqual([false, false, true]);
  residence.reset();
  for (let n = 0; n < 100; ++n) expect(residence.note(0.5 - (n % 2) * 0.4, 0.3, 1)).toBe(false);
});

describe("over 200 shapes", () => {
  const DEVICES = 40;

  /** Shapes of attention from a decode step to long prefills. */
  function randomShapes(numbers: Numbers) {
    return Array.from({ length: 200 }, () => {
      const whole = (least: number, most: number) => Math.round(between(numbers, least, most));
      const heads = whole(1, 64);
      const queries = whole(1, 2048);
      const keys = Math.max(queries, whole(16, 4096));
      const width = [32, 64, 80, 128][whole(1, 4) - 1]!;
      const pairs = numbers.next() > 0 ? queries * keys : queries * (keys - queries / 2);
      const moved = 4 * heads * width * 2 * (queries + keys);
      return {
        name: [heads, queries, keys, width, pairs].join(" "),
        extents: { heads, queries, keys },
        work: work(
          moved,
          0,
          2 * heads * pairs * width,
          tilesOf({
            batchSize: 1,
            numHeads: heads,
            numKvHeads: heads,
            queryLength: queries,
            keyLength: keys,
            headDim: width,
            valueDim: width,
          }),
        ),
      };
    });
  }

  test.each([
    ["an exact clock", 0, undefined],
    ["a clock of 100 µs", 1e-4, undefined],
    ["a clock of 1 ms", 1e-3, undefined],
    ["an exact clock of its own on the GPU", 1e-4, 0],
    ["a clock of its own on the GPU with steps of 100 µs", 1e-4, 1e-4],
  ])(
    "with %s the time lost by wrong choices is at most 5 % of the best in the mean, and at most 15 % on 19 of 20 devices",
    async (_, step, gpuStep) => {
      const lost: number[] = [];
      let now = 0;
      const shown = () => (step === 0 ? now : Math.floor(now / step) * step);
      /** How long something takes, as the clock shows it. */
      const measured = (seconds: number) => {
        const begin = shown();
        now += seconds;
        return shown() - begin;
      };
      for (let device = 0; device < DEVICES; ++device) {
        const numbers = new Numbers(1000 + device);
        const engines = randomDevice(numbers);
        const choice = new Choice(2);
        const timed = (name: "wasm" | "webgpu", problem: AttentionProblem) => {
          const { numHeads: heads, queryLength: queries, keyLength: keys } = problem.shape;
          const seconds = secondsOf(engines[name], attentionWork(problem), { heads, queries, keys });
          return Promise.resolve(measured(disturbed(seconds, numbers)));
        };
        const outcome = await race({
          tilings: ["standard"],
          headDim: 64,
          valueDim: 64,
          step,
          around: { wasm: choice.assumed("wasm"), webgpu: choice.assumed("webgpu") },
          gpu: (_, problem) => timed("webgpu", problem),
          ...(gpuStep !== undefined && {
            kernels: (_: string, problem: AttentionProblem) => {
              const { numHeads: heads, queryLength: queries, keyLength: keys } = problem.shape;
              const kernels = { ...engines.webgpu, start: 0, moves: Infinity };
              const seconds = disturbed(secondsOf(kernels, attentionWork(problem), { heads, queries, keys }), numbers);
              return Promise.resolve(gpuStep === 0 ? seconds : Math.floor(seconds / gpuStep + 0.5) * gpuStep);
            },
          }),
          wasm: (problem) => timed("wasm", problem),
        });
        for (const name of ENGINES) choice.setSpeed(name, outcome[name]);
        let [spent, best] = [0, 0];
        for (let round = 0; round < 3; ++round)
          for (const shape of randomShapes(new Numbers(7))) {
            const seconds = (name: "wasm" | "webgpu") => secondsOf(engines[name], shape.work, shape.extents);
            const chosen = choice.choose(key(shape.name), shape.work);
            choice.learn(chosen, key(shape.name), shape.work, measured(disturbed(seconds(chosen), numbers)), step);
            spent += seconds(chosen);
            best += Math.min(...ENGINES.map(seconds));
          }
        lost.push(spent / best - 1);
      }
      expect(lost).toHaveLength(DEVICES);
      expect(lost.reduce((sum, part) => sum + part, 0) / DEVICES).toBeLessThanOrEqual(0.05);
      expect(lost.filter((part) => part > 0.15).length).toBeLessThanOrEqual(DEVICES / 20);
    },
  );
});

describe("the kind of a call", () => {
  const kindOf = (heads: number, queries: number, keys: number) =>
    attentionKind(raceProblem({ heads, queries, keys }, 64, 64)).name;

  test("is one for calls that run the same kernels, and another if the rows or the parts of the keys are others", () => {
    expect(kindOf(8, 512, 512)).toBe(kindOf(12, 300, 700));
    expect(kindOf(8, 1, 300)).not.toBe(kindOf(8, 512, 300));
    expect(kindOf(1, 64, 4096)).not.toBe(kindOf(1, 64, 100));
    expect(kindOf(8, 512, 512)).toBe("attention 64×64, float32, many rows, BHSD");
  });
});
