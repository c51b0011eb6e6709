import { CASES, engineName, type BenchFigure } from "../../engine/bench.js";
import { counted, grouped, scientific, significant, withUnit } from "../../shell/numbers.js";
import type { BenchResult } from "./benchResult.js";
import { t } from "../../../texts/t.js";

/** A time that was measured. */
export interface Point {
  /** Which engine and which case, by their place in the lists. */
  readonly figure: number;
  readonly case: number;
  readonly milliseconds: number;
  /** Floating-point operations for each byte that must move. */
  readonly intensity: number;
  readonly gflops: number;
  /** What the engine's roof allows at this intensity; undefined if the roof is not known. */
  readonly roof: number | undefined;
}

export function pointsOf(figures: readonly BenchFigure[]): Point[] {
  return figures.flatMap((figure, at) =>
    figure.times.map((milliseconds, index) => {
      const intensity = intensityOf(index);
      const gflops = CASES[index]!.flops / milliseconds / 1e6;
      return { figure: at, case: index, milliseconds, intensity, gflops, roof: roofAt(figure, intensity) };
    }),
  );
}

export function intensityOf(index: number): number {
  return CASES[index]!.flops / CASES[index]!.bytes;
}

/** The roof in GFLOP/s: multiply-adds of all threads, or what memory lets through, whichever is lower. */
export function roofAt({ roof, bandwidth, engine }: BenchFigure, intensity: number): number | undefined {
  if (roof === undefined) return undefined;
  const computing = roof * Math.max(engine.threads, 1);
  return Math.min(computing, bandwidth === undefined ? Infinity : bandwidth * intensity) / 1e9;
}

export const timeText = ({ milliseconds }: Point) => withUnit(significant(milliseconds), "ms");

export function rateText({ gflops, roof }: Point): string {
  const rate = withUnit(significant(gflops), "GFLOP/s");
  return roof === undefined ? rate : t`${rate}, ${((100 * gflops) / roof).toFixed(0)} % of the roof`;
}

export function errorText({ error }: BenchFigure): string {
  return error === undefined ? "" : error === 0 ? "0" : scientific(error);
}

/** "the bench was cancelled when it had measured 7 of 20 figures" */
export function coverage({ figures, cancelledOf = figures.length }: BenchResult): string {
  const planned = cancelledOf * CASES.length;
  return t`the bench was cancelled when it had measured ${pointsOf(figures).length} of ${grouped(planned)} figures`;
}

export function finding(result: BenchResult | undefined, cores: number, isIsolated: boolean, hasGpu: boolean): string {
  const points = pointsOf(result?.figures ?? []);
  if (!result || points.length === 0) {
    const threads = isIsolated ? counted(Math.min(cores, 8), "thread") : t`1 thread, because it is not isolated`;
    return hasGpu
      ? t`Nothing is measured yet. This page may use ${threads}; WebGPU is offered.`
      : t`Nothing is measured yet. This page may use ${threads}; WebGPU is not offered.`;
  }
  const fastest = points.reduce((best, point) => (point.gflops > best.gflops ? point : best));
  const name = engineName(result.figures[fastest.figure]!.engine);
  const { name: called } = CASES[fastest.case]!;
  return result.cancelledOf === undefined
    ? t`The highest rate is ${rateText(fastest)}: ${name}, in the case “${called}”.`
    : t`The highest rate so far is ${rateText(fastest)}: ${name}, in the case “${called}”.`;
}

export function measuredWords(result: BenchResult | undefined): string {
  if (!result) return t`A run takes some seconds. Leave this tab in front, and the machine alone.`;
  const { device, date, cancelledOf } = result;
  return cancelledOf === undefined
    ? t`Measured on ${device}, ${date}.`
    : t`Measured on ${device}, ${date}; ${coverage(result)}.`;
}
