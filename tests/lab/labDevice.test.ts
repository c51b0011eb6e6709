import { describe, expect, test } from "@jest/globals";

import { bandwidth } from "../../web/demo/lab/engine/bandwidth.js";
import { bench, CASES, engineName, type BenchFigure } from "../../web/demo/lab/engine/bench.js";
import { chartLayout, LETTER, PLOT } from "../../web/demo/lab/rooms/device/chartLayout.js";
import { markdown, packResult, unpackResult } from "../../web/demo/lab/rooms/device/sharing.js";
import type { BenchResult } from "../../web/demo/lab/rooms/device/benchResult.js";
import {
  errorText,
  finding,
  measuredWords,
  pointsOf,
  rateText,
  timeText,
} from "../../web/demo/lab/rooms/device/words.js";
import { random } from "../../web/demo/lab/shell/random.js";
import { faults, numbersIn } from "./labGrid.js";

const ENGINES = [
  { backend: "wasm", variant: "relaxed", threads: 1 },
  { backend: "wasm", variant: "relaxed", threads: 8 },
  { backend: "wasm", variant: "simd", threads: 1 },
  { backend: "wasm", variant: "simd", threads: 8 },
  { backend: "webgpu", variant: "wgsl", threads: 0 },
] as const;

/** Results as machines may give: near each other and far apart, cancelled, refused, and without roofs. */
function* results(): Generator<BenchResult> {
  const uniform = random(5);
  for (let n = 0; n < 300; n++) {
    const spread = 10 ** (4 * uniform());
    const slowest = 10 ** (3.5 * uniform() - 0.5);
    const hasRoofs = uniform() < 0.8;
    const figures = ENGINES.map((engine): BenchFigure => {
      if (uniform() < 0.1) return { engine, refusal: "no adapter answers", times: [] };
      const count = uniform() < 0.1 ? Math.floor(5 * uniform()) : CASES.length;
      const times = CASES.slice(0, count).map(() => slowest * spread ** -uniform());
      const roofs = hasRoofs && engine.backend === "wasm" ? { roof: 1e10 * 10 ** uniform(), bandwidth: 2e9 * 10 ** (2 * uniform()) } : {}; // oxfmt-ignore
      return { engine, error: uniform() * 1e-6, ...roofs, times };
    });
    const measured = figures.slice(0, 1 + Math.floor(5 * uniform()));
    const isCancelled = measured.length < 5 || measured.some(({ refusal, times }) => !refusal && times.length < 4);
    yield { device: "Chrome 141, X11, 8 cores", date: "2026-01-02", figures: measured, ...(isCancelled && { cancelledOf: 5 }) }; // oxfmt-ignore
  }
}

test("what is printed is what was measured, and no sentence has a raw exponent", () => {
  for (const result of results()) {
    const points = pointsOf(result.figures);
    const said = [finding(result, 8, true, true), measuredWords(result)];
    expect(said.flatMap(faults)).toEqual([]);
    for (const point of points) {
      const { times, roof, bandwidth: bytes, engine } = result.figures[point.figure]!;
      const { flops, bytes: moved } = CASES[point.case]!;
      const [rate, share] = numbersIn(rateText(point));
      const gflops = flops / times[point.case]! / 1e6;
      expect(Math.abs(numbersIn(timeText(point))[0]! / times[point.case]! - 1)).toBeLessThan(0.0051);
      expect(Math.abs(rate! / gflops - 1)).toBeLessThan(0.0051);
      const allowed = roof && Math.min((roof * Math.max(engine.threads, 1)) / 1e9, ((bytes! / 1e9) * flops) / moved);
      if (allowed === undefined) expect(share).toBeUndefined();
      else expect(Math.abs(share! - (100 * gflops) / allowed)).toBeLessThanOrEqual(0.5001);
      expect(timeText(point) + rateText(point)).not.toMatch(/e[+-]/);
    }
    for (const figure of result.figures) expect(errorText(figure)).toMatch(/^(\d · 10⁻\S+|)$/);
    if (points.length > 0) {
      const best = points.reduce((a, b) => (b.gflops > a.gflops ? b : a));
      expect(said[0]).toContain(`${rateText(best)}: ${engineName(result.figures[best.figure]!.engine)}`);
    } else expect(said[0]).toMatch(/^Nothing is measured yet/);
    const isPartial = result.cancelledOf !== undefined;
    expect(said[1]!.includes("cancelled")).toBe(isPartial);
    if (isPartial) expect(said[1]).toContain(`when it had measured ${points.length} of 20 figures`);
    expect(markdown(result)).not.toMatch(/e[+-]\d|undefined/);
  }
});

test("the times of a slow machine are written out", () => {
  const figures = [{ engine: ENGINES[0], times: [2824.3] }];
  const [point] = pointsOf(figures);
  expect(timeText(point!)).toBe("2,820\u00a0ms");
  expect(markdown({ device: "", date: "", figures })).toContain("| 2,820 ms |");
});

describe("the chart", () => {
  test("stands each point where its numbers are, on logarithmic axes", () => {
    for (const { figures } of results()) {
      const { points, scale } = chartLayout(figures);
      expect(points).toHaveLength(pointsOf(figures).length);
      for (const { x, y, gflops, intensity } of points) {
        const share = (PLOT.bottom - y) / (PLOT.bottom - PLOT.top);
        expect(10 ** (scale.low + share * (scale.high - scale.low)) / gflops).toBeCloseTo(1, 9);
        expect(256 ** ((x - PLOT.left) / (PLOT.right - PLOT.left)) / intensity).toBeCloseTo(1, 9);
        expect(y).toBeGreaterThanOrEqual(PLOT.top);
        expect(y).toBeLessThanOrEqual(PLOT.bottom);
      }
    }
  });

  test("has a letter for each point and each roof, and no two of them overlap", () => {
    for (const { figures } of results()) {
      const { points, roofs, labels } = chartLayout(figures);
      expect(labels).toHaveLength(points.length + roofs.length);
      labels.forEach((a, n) =>
        labels.slice(n + 1).forEach((b) => {
          const isApart = Math.abs(a.x - b.x) >= LETTER.width || Math.abs(a.y - b.y) >= LETTER.height - 1e-9;
          expect([isApart, a, b]).toEqual([true, a, b]);
        }),
      );
    }
  });

  test("draws roofs that no line leaves the plot, and that meet what they limit", () => {
    for (const { figures } of results())
      for (const { path } of chartLayout(figures).roofs)
        for (const [x, y] of path) {
          expect([x >= PLOT.left - 1e-9, x <= PLOT.right + 1e-9]).toEqual([true, true]);
          expect([y >= PLOT.top, y <= PLOT.bottom + 1e-9]).toEqual([true, true]);
        }
  });
});

test("a result survives the way through the address, and other text does not pass for one", () => {
  for (const result of results()) {
    const read = unpackResult(packResult(result))!;
    expect(pointsOf(read.figures)).toHaveLength(pointsOf(result.figures).length);
    expect(read.cancelledOf).toBe(result.cancelledOf);
  }
  const text = (change: object) => packResult({ device: "d", date: "t", figures: [{ engine: ENGINES[0], times: [1], ...change }] }); // oxfmt-ignore
  expect(unpackResult(text({}))).toBeDefined();
  for (const change of [
    { times: ["1"] },
    { times: [1, 2, 3, 4, 5] },
    { times: [-1] },
    { roof: "x" },
    { engine: null },
    { engine: { backend: "x" } },
    { error: {} },
  ])
    // oxfmt-ignore
    expect(unpackResult(text(change))).toBeUndefined();
  for (const other of ["", "[]", "null", "{}", "{"]) expect(unpackResult(other)).toBeUndefined();
});

test("a bench that is cancelled gives what it has measured", async () => {
  const cancelling = new AbortController();
  const engine = { backend: "wasm", variant: "simd", threads: 1 } as const;
  const steps: string[] = [];
  const figures = await bench({ engines: [engine, engine], seconds: 0.001 }, (what) => {
    steps.push(what);
    if (steps.length === 2) setTimeout(() => cancelling.abort());
  }, cancelling.signal); // oxfmt-ignore
  expect(figures).toHaveLength(1);
  expect(figures[0]!.refusal).toBeUndefined();
  expect(figures[0]!.times.length).toBeLessThan(CASES.length);
  expect(steps[0]).toBe("wasm · simd · 1 thread: BERT, 12 heads × 128 × 64");
});

test("copying is measured, between 1e8 and 1e13 bytes a second", async () => {
  const rate = await bandwidth(1);
  expect(rate).toBeGreaterThan(1e8);
  expect(rate).toBeLessThan(1e13);
});
