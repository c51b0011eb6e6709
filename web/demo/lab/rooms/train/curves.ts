/** A value of a training after this step. */
export type Point = readonly [step: number, value: number];

/** A curve over the steps of a training. */
export interface Curve {
  readonly name: string;
  readonly points: readonly Point[];
  /** A class of the style sheet. */
  readonly kind: "two" | "one";
}

export const WIDTH = 460;
export const HEIGHT = 190;
export const PLOT = { left: 44, right: WIDTH - 12, top: 12, bottom: HEIGHT - 30 } as const;
/** More points than this are drawn as means of neighbours. */
const MOST_POINTS = 220;

/** The steps that an axis has: a round number, so that it does not move at every step. */
export function axisSteps(steps: number): number {
  const rounds = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000];
  return rounds.find((round) => round >= steps) ?? 100_000 * Math.ceil(steps / 100_000);
}

/** Means of as many neighbours as needed. */
export function thinned(all: readonly Point[]): readonly Point[] {
  const size = Math.ceil(all.length / MOST_POINTS);
  return Array.from({ length: Math.ceil(all.length / size || 0) }, (_, group) => {
    const members = all.slice(group * size, (group + 1) * size);
    const mean = (of: 0 | 1) => members.reduce((sum, member) => sum + member[of], 0) / members.length;
    return [mean(0), mean(1)];
  });
}

/** The points of a polyline. Values are shares of the height, up to `highest`. */
export function points(all: readonly Point[], steps: number, highest: number): string {
  return thinned(all)
    .map(([step, value]) => `${placeOfStep(step, steps).toFixed(1)},${placeOfValue(value, highest).toFixed(1)}`)
    .join(" ");
}

export function placeOfStep(step: number, steps: number): number {
  return PLOT.left + (step / steps) * (PLOT.right - PLOT.left);
}

export function placeOfValue(value: number, highest: number): number {
  return PLOT.bottom - (Math.min(Math.max(value, 0), highest) / highest) * (PLOT.bottom - PLOT.top);
}
