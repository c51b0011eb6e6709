/** A curve over the steps of a training: value n is that of step n + 1. */
export interface Curve {
  readonly name: string;
  readonly values: readonly number[];
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

/** Means of as many neighbours as needed, each with the middle of their steps. Steps count from 1. */
export function thinned(values: readonly number[]): readonly (readonly [step: number, value: number])[] {
  const size = Math.ceil(values.length / MOST_POINTS);
  return Array.from({ length: Math.ceil(values.length / size || 0) }, (_, group) => {
    const members = values.slice(group * size, (group + 1) * size);
    return [group * size + (members.length + 1) / 2, members.reduce((a, b) => a + b, 0) / members.length];
  });
}

/** The points of a polyline. Values are shares of the height, up to `highest`. */
export function points(values: readonly number[], steps: number, highest: number): string {
  return thinned(values)
    .map(([step, value]) => `${placeOfStep(step, steps).toFixed(1)},${placeOfValue(value, highest).toFixed(1)}`)
    .join(" ");
}

export function placeOfStep(step: number, steps: number): number {
  return PLOT.left + (step / steps) * (PLOT.right - PLOT.left);
}

export function placeOfValue(value: number, highest: number): number {
  return PLOT.bottom - (Math.min(Math.max(value, 0), highest) / highest) * (PLOT.bottom - PLOT.top);
}
