import type { Row } from "./rows.js";
import type { Settings } from "./settings.js";

/** A bar: the median, and the quartiles around it, in milliseconds or as a ratio. */
export interface Bar {
  readonly row: Row;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The bars of a shape, with the ends of their axis. */
export interface ShapeBars {
  readonly shape: string;
  readonly bars: readonly Bar[];
  readonly axis: Axis;
  /** How many rows have no time of the engine that they are to be divided by. */
  readonly withoutRatio: number;
}

export interface Axis {
  readonly from: number;
  readonly to: number;
  /** The share of the axis, from 0 to 1. */
  readonly at: (value: number) => number;
}

type View = Pick<Settings, "shape" | "show" | "to" | "by" | "log">;

export function barsOf(rows: readonly Row[], { shape: chosen, show, to, by, log }: View): ShapeBars[] {
  const shapes = [...new Set(rows.map(({ shape }) => shape))].filter((shape) => chosen === "" || shape === chosen);
  return shapes.map((shape) => {
    const own = rows.filter((row) => row.shape === shape);
    const bars = own.flatMap((row): Bar[] => {
      const unit = show === "time" ? 1 : own.find((other) => isBase(other, row, to))?.median;
      if (unit === undefined) return [];
      return [{ row, value: row.median / unit, low: row.low / unit, high: row.high / unit }];
    });
    return { shape, bars: sorted(bars, by), axis: axisOf(bars, log), withoutRatio: own.length - bars.length };
  });
}

const isBase = (other: Row, row: Row, to: string) =>
  other.engine === to && other.device === row.device && other.file === row.file;

function sorted(bars: readonly Bar[], by: Settings["by"]): Bar[] {
  if (by === "time") return bars.toSorted((a, b) => a.value - b.value);
  const names = [...new Set(bars.map(({ row }) => row[by]))];
  return names.flatMap((name) => bars.filter(({ row }) => row[by] === name));
}

/** From 0 to the longest bar; or, logarithmic, between powers of ten. */
export function axisOf(bars: readonly Pick<Bar, "value" | "low" | "high">[], log: boolean): Axis {
  const most = Math.max(...bars.map(({ high }) => high), 0);
  if (!log || most === 0) return { from: 0, to: most, at: (value) => (most === 0 ? 0 : value / most) };
  const low = Math.floor(Math.log10(Math.min(...bars.map((bar) => bar.low))) - 1e-9);
  const high = Math.max(Math.ceil(Math.log10(most)), low + 1);
  return { from: 10 ** low, to: 10 ** high, at: (value) => (Math.log10(value) - low) / (high - low) };
}
