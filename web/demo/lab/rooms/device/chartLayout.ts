import type { BenchFigure } from "../../engine/bench.js";
import { pointsOf, roofAt, type Point } from "./words.js";

export const WIDTH = 420;
export const HEIGHT = 330;
/** The plot, in the units of the picture. */
export const PLOT = { left: 46, right: WIDTH - 26, top: 14, bottom: HEIGHT - 44 } as const;
export const LETTER = { width: 9, height: 12 } as const;

const INTENSITIES = [1, 256] as const;
/** The distance of a letter's middle from its point. */
const BESIDE = 13;

export interface Label {
  readonly figure: number;
  /** The middle of the letter. */
  readonly x: number;
  readonly y: number;
  /** Where its point or the end of its line is. */
  readonly of: { readonly x: number; readonly y: number };
}

export interface ChartLayout {
  readonly points: readonly (Point & { readonly x: number; readonly y: number })[];
  readonly roofs: readonly { readonly figure: number; readonly path: readonly (readonly [x: number, y: number])[] }[];
  readonly labels: readonly Label[];
  readonly scale: Scale;
}

export interface Scale {
  /** Powers of ten. */
  readonly low: number;
  readonly high: number;
  x(intensity: number): number;
  y(gflops: number): number;
}

/** The rates, from the power of ten below the lowest to the one above the highest. */
export function scaleFor(rates: readonly number[]): Scale {
  const shown = rates.length > 0 ? rates : [1, 100];
  const low = Math.floor(Math.log10(Math.min(...shown) * 0.9));
  const high = Math.max(Math.ceil(Math.log10(Math.max(...shown) * 1.05)), low + 1);
  const along = (share: number, from: number, to: number) => from + share * (to - from);
  return {
    low,
    high,
    x: (intensity) => along(Math.log2(intensity) / Math.log2(INTENSITIES[1]), PLOT.left, PLOT.right),
    y: (gflops) => along((Math.log10(gflops) - low) / (high - low), PLOT.bottom, PLOT.top),
  };
}

export function chartLayout(figures: readonly BenchFigure[]): ChartLayout {
  const measured = pointsOf(figures);
  const roofed = figures.flatMap((figure, at) => (roofAt(figure, 1) === undefined ? [] : [{ figure, at }]));
  const rates = [
    ...measured.map(({ gflops }) => gflops),
    ...roofed.map(({ figure }) => roofAt(figure, INTENSITIES[1])!),
  ];
  const scale = scaleFor(rates);
  const points = measured.map((point) => ({ ...point, x: scale.x(point.intensity), y: scale.y(point.gflops) }));
  const roofs = roofed.map(({ figure, at }) => ({ figure: at, path: roofPath(figure, scale) }));
  const cases = [...new Set(points.map((point) => point.case))];
  const labels = [
    ...cases.flatMap((index) =>
      beside(
        points.filter((point) => point.case === index),
        index % 2 === 0 ? BESIDE : -BESIDE,
      ),
    ),
    ...beside(
      roofs.map(({ figure, path }) => ({ figure, x: path.at(-1)![0], y: path.at(-1)![1] })),
      BESIDE,
    ),
  ];
  return { points, roofs, labels, scale };
}

/** The roof from the lowest intensity to the highest. Below the plot it is cut. */
function roofPath(figure: BenchFigure, scale: Scale): [number, number][] {
  const { roof = 0, bandwidth = Infinity, engine } = figure;
  const ridge = (roof * Math.max(engine.threads, 1)) / bandwidth;
  const floor = (10 ** scale.low * 1e9) / bandwidth;
  const [from, to] = INTENSITIES;
  const stops = [Math.max(from, floor), ridge, to].filter((at) => at >= Math.max(from, floor) && at <= to);
  return [...new Set(stops)].map((at) => [scale.x(at), scale.y(roofAt(figure, at)!)]);
}

/** Letters beside points, in one column. Those that would overlap are moved apart. */
function beside(
  points: readonly { readonly figure: number; readonly x: number; readonly y: number }[],
  distance: number,
): Label[] {
  const sorted = [...points].sort((a, b) => a.y - b.y);
  const heights = spread(sorted.map(({ y }) => y));
  return sorted.map(({ figure, x, y }, n) => ({ figure, x: x + distance, y: heights[n]!, of: { x, y } }));
}

/** Ascending heights, at least a letter apart, and inside the plot if they fit there. */
function spread(heights: readonly number[]): number[] {
  const apart = [...heights];
  for (let n = 1; n < apart.length; n++) apart[n] = Math.max(apart[n]!, apart[n - 1]! + LETTER.height);
  const last = apart.length - 1;
  if (last >= 0) apart[last] = Math.min(apart[last]!, PLOT.bottom);
  for (let n = last - 1; n >= 0; n--) apart[n] = Math.min(apart[n]!, apart[n + 1]! - LETTER.height);
  return apart;
}
