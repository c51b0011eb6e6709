import type { EngineName } from "../engine/report.js";
import type { Work } from "./work.js";

/**
 * How fast an engine is, in three numbers: seconds before anything is computed, seconds for a byte, seconds for a
 * multiply-add. All are above 0.
 */
export interface Speed {
  readonly start: number;
  readonly byte: number;
  readonly operation: number;
}

/** The numbers of a call that the three numbers of a speed multiply. */
export type Load = readonly [starts: number, bytes: number, operations: number];

/**
 * The engine reads its own memory faster than bytes move there from JavaScript. So many bytes of its memory count as one
 * that moves. An assumption, from the bandwidths of memory, of a copy in JavaScript, and of a copy to a GPU process.
 */
const OWN_BYTES: Readonly<Record<EngineName, number>> = { wasm: 2, webgpu: 32 };

/** So many tiles keep an engine busy. With fewer, a multiply-add takes longer in proportion. An assumption too. */
const ENOUGH_TILES: Readonly<Record<EngineName, number>> = { wasm: 1, webgpu: 96 };

export function loadOf(engine: EngineName, { moved, touched, multiplyAdds, tiles }: Work): Load {
  const idle = Math.max(1, ENOUGH_TILES[engine] / tiles);
  return [1, moved + touched / OWN_BYTES[engine], multiplyAdds * idle];
}

/** The load of a call's kernels alone, without its start and its copies. */
export function kernelLoad(work: Work): Load {
  const [, bytes, operations] = loadOf("webgpu", { ...work, moved: 0 });
  return [0, bytes, operations];
}

export function speedsAsList({ start, byte, operation }: Speed): [number, number, number] {
  return [start, byte, operation];
}

export function speedOfList([start, byte, operation]: readonly [number, number, number]): Speed {
  return { start, byte, operation };
}

/** Seconds that a call of this work takes. */
export function predict(speed: Speed, load: Load): number {
  return partsOf(speed, load).reduce((sum, part) => sum + part, 0);
}

/** The seconds of the start, of the bytes and of the operations. */
export function partsOf(speed: Speed, load: Load): [number, number, number] {
  return [speed.start * load[0], speed.byte * load[1], speed.operation * load[2]];
}

/**
 * What is assumed before anything is measured. wasm: a core of a laptop does 24 GFLOP/s. WebGPU: an integrated GPU of a
 * laptop at half of what it can do, 200 GFLOP/s, with 2 ms for a call and a copy at 2 GB/s.
 */
export function assumedSpeed(engine: EngineName, threads: number): Speed {
  return engine === "webgpu"
    ? { start: 2e-3, byte: 1 / 2e9, operation: 1 / 1e11 }
    : { start: 2e-5, byte: 1 / 4e9, operation: 1 / (1.2e10 * Math.max(threads, 1)) };
}

/** What a good GPU does, 2 TFLOP/s; the rest as assumed. It says whether a call is worth opening the GPU for. */
export const HOPED_SPEED: Speed = { ...assumedSpeed("webgpu", 1), operation: 1 / 1e12 };

/** How far a measured number may be from the assumed one, as a factor in both directions. */
export const FARTHEST = 1e4;

/** A speed whose numbers are limited to what can be true. */
export function limited(speed: Speed, assumed: Speed): Speed {
  return {
    start: limitedTo(speed.start, assumed.start),
    byte: limitedTo(speed.byte, assumed.byte),
    operation: limitedTo(speed.operation, assumed.operation),
  };
}

function limitedTo(number: number, around: number): number {
  return Math.min(Math.max(number, around / FARTHEST), around * FARTHEST);
}

/** Share of a new time in what is known, and its share while hardly any call was timed. */
const NEW_SHARE = 1 / 8;
const FIRST_SHARE = 1 / 2;

/** A time that is farther off than this factor counts as one that is off by it. */
const MOST_INFLUENCE = 3;

/**
 * The speed after one more call was timed. The numbers move by the same factor as the time was off, each in proportion to
 * its part of the prediction: a long product says nothing about the start. A call that was disturbed moves them little.
 *
 * @param calls - How many calls were timed before.
 */
export function refined(speed: Speed, load: Load, seconds: number, assumed: Speed, calls = Infinity): Speed {
  const [starting, moving, computing] = partsOf(speed, load);
  const total = starting + moving + computing;
  if (!(seconds > 0) || !(total > 0)) return speed;
  const most = Math.log(MOST_INFLUENCE);
  const off = Math.min(Math.max(Math.log(seconds / total), -most), most);
  const weight = Math.max(NEW_SHARE, 1 / (1 / FIRST_SHARE + calls));
  const norm = (starting * starting + moving * moving + computing * computing) / (total * total);
  const factor = (part: number) => Math.exp((weight * off * part) / (total * norm));
  const { start, byte, operation } = speed;
  const now = {
    start: start * factor(starting),
    byte: byte * factor(moving),
    operation: operation * factor(computing),
  };
  return limited(now, assumed);
}
