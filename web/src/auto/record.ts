import type { RaceResult } from "../engine/report.js";
import { FARTHEST, speedsAsList, type Speed } from "./speed.js";

/** What a calibration has measured, as it is kept between visits. */
export interface CalibrationRecord {
  /** Milliseconds since 1970. */
  readonly measuredAt: number;
  readonly tiling: string;
  readonly webgpu: Speed;
  readonly wasm: Speed;
  readonly race: readonly RaceResult[];
  /** A call with so many multiply-adds has lost the GPU. */
  readonly lostAt?: number;
}

/** Changes when the meaning of a record changes. */
const FORMAT = 1;

/** An older record is measured again: drivers and browsers change. */
const MOST_AGE = 60 * 24 * 3600 * 1000;

const MOST_TEXT = 20_000;
const MOST_RESULTS = 16;

export function recordText(record: CalibrationRecord): string {
  const { webgpu, wasm, ...rest } = record;
  return JSON.stringify({ format: FORMAT, ...rest, webgpu: speedsAsList(webgpu), wasm: speedsAsList(wasm) });
}

/**
 * Reads a record that was kept. The text is not trusted: undefined if anything in it is not as we write it, if it is old,
 * or if a number cannot be true.
 *
 * @param now - Milliseconds since 1970.
 * @param tilings - The tilings that this device can run.
 */
export function readRecord(
  text: unknown,
  now: number,
  tilings: readonly string[],
  assumed: { readonly wasm: Speed; readonly webgpu: Speed },
): CalibrationRecord | undefined {
  const given = parsed(text);
  if (!given || given.format !== FORMAT) return undefined;
  const { measuredAt, tiling, race } = given;
  if (!isNumber(measuredAt) || measuredAt > now || now - measuredAt > MOST_AGE) return undefined;
  if (typeof tiling !== "string" || !tilings.includes(tiling)) return undefined;
  const webgpu = speedOf(given.webgpu, assumed.webgpu);
  const wasm = speedOf(given.wasm, assumed.wasm);
  if (!webgpu || !wasm || !Array.isArray(race) || race.length > MOST_RESULTS) return undefined;
  const results = race.map(resultOf);
  if (results.some((result) => result === undefined)) return undefined;
  const lost = isNumber(given.lostAt) ? { lostAt: given.lostAt } : {};
  return { measuredAt, tiling, webgpu, wasm, race: results as RaceResult[], ...lost };
}

function parsed(text: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof text !== "string" || text.length > MOST_TEXT) return undefined;
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function speedOf(value: unknown, assumed: Speed): Speed | undefined {
  if (!Array.isArray(value) || value.length !== 3 || !value.every(isNumber)) return undefined;
  const [start, byte, operation] = value as [number, number, number];
  const around = speedsAsList(assumed);
  const isPossible = value.every((number: number, n) => {
    const factor = number / around[n]!;
    return factor <= FARTHEST * 1.001 && factor >= 1 / (FARTHEST * 1.001);
  });
  return isPossible ? { start, byte, operation } : undefined;
}

function resultOf(value: unknown): RaceResult | undefined {
  const result = objectOf(value);
  const milliseconds = objectOf(result?.milliseconds);
  if (!result || !milliseconds) return undefined;
  const { heads, queries, keys, headDim } = result;
  if (!isNumber(heads) || !isNumber(queries) || !isNumber(keys) || !isNumber(headDim)) return undefined;
  const times = Object.entries(milliseconds);
  if (times.length > 4 || !times.every(([name, time]) => name.length <= 40 && isNumber(time))) return undefined;
  return { heads, queries, keys, headDim, milliseconds: Object.fromEntries(times) as Record<string, number> };
}
