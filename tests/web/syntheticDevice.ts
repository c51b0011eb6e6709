// Devices that exist only as numbers, for tests of the calibration: how long an engine takes for a call.

import { type Numbers } from "../../web/src/auto/numbers.js";
import type { Work } from "../../web/src/auto/work.js";
import type { EngineName } from "../../web/src/engine/report.js";

/** How fast an engine is. Unlike the model of the package it is not linear: few tiles leave a part of it idle. */
export interface SyntheticEngine {
  /** Seconds of a call that does nothing. */
  readonly start: number;
  /** Bytes a second between JavaScript and the engine, and in the engine's memory. */
  readonly moves: number;
  readonly reads: number;
  /** Multiply-adds a second, if there are tiles enough. */
  readonly operations: number;
  /** Tiles that keep all of it busy. */
  readonly cores: number;
}

export interface SyntheticDevice {
  readonly wasm: SyntheticEngine;
  readonly webgpu: SyntheticEngine;
}

/** The sizes that decide how a call is cut into tiles. */
export interface Extents {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

/** Tiles of a call: 64 rows of queries, and keys in parts of 256 for few rows and of 512 for many. */
function tilesOf({ heads, queries, keys }: Extents): number {
  return heads * Math.ceil(queries / 64) * Math.max(1, Math.floor(keys / (queries <= 8 ? 256 : 512)));
}

export function secondsOf(engine: SyntheticEngine, work: Work, extents: Extents): number {
  const busy = Math.min(1, tilesOf(extents) / engine.cores);
  const computes = Math.max(work.multiplyAdds / (engine.operations * busy), work.touched / engine.reads);
  return engine.start + work.moved / engine.moves + computes;
}

/** The same seconds as a clock sees them: a few per cent off, and now and then disturbed. */
export function disturbed(seconds: number, numbers: Numbers): number {
  const noise = Math.exp(0.08 * numbers.next());
  return seconds * noise * (numbers.next() > 0.9 ? 3 : 1);
}

/** A value between two, evenly by its logarithm. */
export function between(numbers: Numbers, least: number, most: number): number {
  return least * (most / least) ** ((numbers.next() + 1) / 2);
}

/** A device of a kind that visitors have: from a phone to a workstation, and with a GPU that is far away. */
export function randomDevice(numbers: Numbers): SyntheticDevice {
  return {
    wasm: {
      start: between(numbers, 5e-6, 5e-5),
      moves: between(numbers, 2e9, 1e10),
      reads: between(numbers, 4e9, 3e10),
      operations: between(numbers, 5e9, 1.5e11),
      cores: 4,
    },
    webgpu: {
      start: between(numbers, 2e-4, 2e-2),
      moves: between(numbers, 5e8, 1e10),
      reads: between(numbers, 1e10, 1e12),
      operations: between(numbers, 1e10, 1e13),
      cores: between(numbers, 8, 256),
    },
  };
}

export const ENGINES: readonly EngineName[] = ["wasm", "webgpu"];
