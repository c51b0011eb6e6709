// Saved caches, in the format of cpp/src/cache/kv_cache_file.cpp, byte for byte. All numbers are little-endian. A file holds:
// - the magic, then the header's numbers, 8 bytes each
// - if the rotary embedding has arrays of its own: the short and the long factors, or the frequencies, 8 bytes each; or
//   the number of rows of its tables, 8 bytes, all cosines and all sines, 4 bytes each
// - for every batch the number of appended tokens and the rotary origin
// - for every batch that is not empty and every head: for int8 the mean of the keys; the key rows in order of position
//   (for int8 followed by the scales of their blocks), then the value rows (and scales)
// - a CRC-32 of all that
// Version 1 of int8 has no means and one scale for each row. It is only read. Other dtypes still have version 1.

import { OptionError } from "../../base/errors.js";
import { MOST_CACHE_BATCHES } from "../../cache/cacheBatches.js";
import type { CacheDtype } from "../../cache/cacheDtype.js";
import type { CacheProblem, RingPositions } from "../../cache/cacheProblem.js";
import { savedBytes, tokenBytes, versionOf } from "../../cache/savedRows.js";
import { ANGLE_KINDS, kindNumber } from "../../position/checkedAngles.js";
import type { CheckedAngles, RotaryScaling, SCALINGS } from "../../position/rotaryAngles.js";
import { crc32 } from "./crc32.js";

/** The content of a saved cache. */
export interface SavedCache {
  readonly problem: CacheProblem;
  /** Of the file. */
  readonly version: number;
  /**
   * By batch: the number of appended tokens (`appended`), and the number that rotary embedding adds to their positions
   * (`origins`).
   */
  readonly appended: readonly number[];
  readonly origins: readonly number[];
  /** Whether tokens were given positions. */
  readonly hasGivenPositions: boolean;
  /** All rows, in the order of the file. */
  readonly rows: Uint8Array;
}

const MAGIC = [0x89, 0x48, 0x57, 0x4b, 0x56, 0x0d, 0x0a, 0x1a];
const NEWEST_VERSION = 2;
const NUMBER = 8;
const FLOAT = 4;
const CHECKSUM = 4;
const HEADER = MAGIC.length + 10 * NUMBER;
const ROTARY = 15 * NUMBER;
const SECTIONS = 3 * NUMBER;
const MOST = 2 ** 31 - 1;
const FARTHEST_ORIGIN = 2 ** 52;

/** Most bytes of a token over all heads: `kMostTokenBytes` of kv_cache_store.h. */
const MOST_TOKEN_BYTES = 2 ** 48;

const DTYPES: readonly CacheDtype[] = ["float32", "float16", "int8"];

export function writeCache(saved: Omit<SavedCache, "version">): Uint8Array {
  const { problem, appended, origins, hasGivenPositions, rows } = saved;
  const header = headerOf(problem, versionOf(problem.dtype), hasGivenPositions);
  const rowsAt = header.length + 2 * NUMBER * appended.length;
  const bytes = new Uint8Array(rowsAt + rows.length + CHECKSUM);
  bytes.set(header);
  const writer = new Writer(new DataView(bytes.buffer), header.length);
  appended.forEach((tokens, b) => writer.integers(tokens, origins[b]!));
  bytes.set(rows, rowsAt);
  new DataView(bytes.buffer).setUint32(bytes.length - CHECKSUM, crc32(bytes.subarray(0, -CHECKSUM)), true);
  return bytes;
}

/**
 * Whether keys are turned, 1; if tokens were given positions, 2; by their places in a ring, 3. 4: positions are places, and
 * no keys are turned. 5 to 7: as 1 to 3, by sections.
 */
function turnsOf({ rotary, ring }: CacheProblem, hasGivenPositions: boolean): number {
  const byPlace = ring?.positions === "cache";
  if (!rotary) return byPlace ? 4 : 0;
  return (rotary.sections ? 4 : 0) + (byPlace ? 3 : 1 + Number(hasGivenPositions));
}

/** Magic and header. */
function headerOf(problem: CacheProblem, version: number, hasGivenPositions: boolean): Uint8Array {
  const { rotary: angles } = problem;
  const header = new Uint8Array(HEADER + (angles ? ROTARY + arrayBytes(angles) + (angles.sections ? SECTIONS : 0) : 0));
  header.set(MAGIC);
  const writer = new Writer(new DataView(header.buffer), MAGIC.length);
  const { dtype, batchSize, numKvHeads, headDim, valueDim, capacity, ring, rotary } = problem;
  const sizes = [batchSize, numKvHeads, headDim, valueDim, capacity ?? 0, ring?.keepFirst ?? 0, ring?.window ?? 0];
  writer.integers(version, DTYPES.indexOf(dtype), ...sizes, turnsOf(problem, hasGivenPositions));
  if (rotary) writeAngles(writer, rotary);
  return header;
}

/**
 * Reads a saved cache. Checks magic, version, sizes and checksum first. It also refuses what `writeCache` never writes,
 * such as numbers that the scaling does not use, because both engines read the same files.
 */
export function readCache(operation: string, bytes: Uint8Array): SavedCache {
  const corrupt = (why: string) => new OptionError(`${operation}: ${why}`, { code: "CORRUPT_DATA" });
  if (bytes.length < MAGIC.length || MAGIC.some((byte, n) => bytes[n] !== byte))
    throw corrupt("these bytes are not a saved cache");
  if (bytes.length < HEADER + CHECKSUM) throw corrupt("the saved cache is truncated");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const given = view.getBigInt64(MAGIC.length, true);
  if (given < 1n || given > BigInt(NEWEST_VERSION))
    throw corrupt(`the saved cache has version ${given}, this engine reads 1 to ${NEWEST_VERSION}`);
  const version = Number(given);
  if (crc32(bytes.subarray(0, -CHECKSUM)) !== view.getUint32(bytes.length - CHECKSUM, true))
    throw corrupt("the saved cache is damaged or truncated: its checksum is wrong");

  const reader = new Reader(view, MAGIC.length + NUMBER, bytes.length - CHECKSUM);
  const { problem, hasGivenPositions = false } = readProblem(operation, reader) ?? {};
  const isOurs =
    problem &&
    version <= versionOf(problem.dtype) &&
    headerOf(problem, version, hasGivenPositions).every((byte, n) => bytes[n] === byte);
  if (!isOurs || problem.batchSize > reader.left / (2 * NUMBER))
    throw corrupt("the saved cache's header holds impossible numbers");
  const farthest = problem.rotary ? FARTHEST_ORIGIN : 0;
  const most = problem.ring ? MOST : (problem.capacity ?? MOST);
  const batches = Array.from({ length: problem.batchSize }, () => [
    reader.integer(0, most),
    reader.integer(0, farthest),
  ]);
  if (!reader.isPossible) throw corrupt("the saved cache tells of impossible numbers of tokens");
  const appended = batches.map(([tokens]) => tokens!);
  if (savedBytes({ ...problem, rotary: false }, appended, version) !== reader.left)
    throw corrupt("the saved cache's size does not fit its shape");
  const rows = bytes.subarray(bytes.length - CHECKSUM - reader.left, bytes.length - CHECKSUM);
  const origins = batches.map(([, origin]) => origin!);
  return { problem, version, appended, origins, hasGivenPositions, rows };
}

function readProblem(
  operation: string,
  reader: Reader,
): { readonly problem: CacheProblem; readonly hasGivenPositions: boolean } | undefined {
  const dtype = DTYPES[reader.integer(0, DTYPES.length - 1)]!;
  const batchSize = reader.integer(0, MOST_CACHE_BATCHES);
  const [numKvHeads, headDim, valueDim] = [reader.integer(1, MOST), reader.integer(1, MOST), reader.integer(1, MOST)];
  const [capacity, keepFirst, window] = [reader.integer(0, MOST), reader.integer(0, MOST), reader.integer(0, MOST)];
  const turns = reader.integer(0, 7); // see turnsOf
  const byPlace = turns === 3 || turns === 4 || turns === 7;
  const rotary = turns > 0 && turns !== 4 ? readAngles(reader, headDim, turns > 4) : undefined;
  const ringFits = window > 0 ? capacity === 0 || capacity >= keepFirst + window : keepFirst === 0;
  const placesFit = !byPlace || (window > 0 && !rotary?.tables);
  const fits = ringFits && placesFit && tokenBytes({ dtype, numKvHeads, headDim, valueDim }) <= MOST_TOKEN_BYTES;
  if (!reader.isPossible || !fits) return undefined;
  const positions: RingPositions = byPlace ? "cache" : "text";
  const problem = {
    operation,
    batchSize,
    numKvHeads,
    headDim,
    valueDim,
    dtype,
    capacity: capacity === 0 ? undefined : capacity,
    ring: window === 0 ? undefined : { keepFirst, window, positions },
    rotary,
  };
  return { problem, hasGivenPositions: turns === 2 || turns === 6 };
}

/** The lists of a rotary embedding, in the order of the file. */
function listsOf({ frequencies, scaling }: CheckedAngles): readonly Float64Array[] {
  if (frequencies) return [frequencies];
  return scaling?.kind === "longrope" ? [scaling.shortFactor!, scaling.longFactor!] : [];
}

function arrayBytes(angles: CheckedAngles): number {
  const { tables } = angles;
  const ofTables = tables ? NUMBER + tables.cos.byteLength + tables.sin.byteLength : 0;
  return listsOf(angles).reduce((sum, list) => sum + list.byteLength, ofTables);
}

/** The numbers of position.h's RotaryOptions, in order, and its arrays. An absent number has its default from there. */
function writeAngles(writer: Writer, angles: CheckedAngles): void {
  const { rotaryDim, base, interleaved, scaling, tables } = angles;
  writer.integers(rotaryDim);
  writer.double(base);
  writer.integers(Number(interleaved), kindNumber(angles));
  const { factor, originalLength, sequenceLength, betaFast, betaSlow } = scaling ?? {};
  for (const number of [factor ?? 1, originalLength ?? 0, sequenceLength ?? 0, betaFast ?? 32, betaSlow ?? 1])
    writer.double(number);
  writer.integers(Number(scaling?.truncate ?? true));
  const { mscale, mscaleAllDim, lowFreqFactor, highFreqFactor } = scaling ?? {};
  const attentionFactor = scaling?.attentionFactor ?? angles.attentionFactor;
  for (const number of [attentionFactor ?? 0, mscale ?? 0, mscaleAllDim ?? 0, lowFreqFactor ?? 1, highFreqFactor ?? 4])
    writer.double(number);
  if (angles.sections) writer.integers(...angles.sections);
  for (const list of listsOf(angles)) for (const number of list) writer.double(number);
  if (!tables) return;
  writer.integers(tables.rows);
  for (const table of [tables.cos, tables.sin]) for (const number of table) writer.float(number);
}

function readAngles(reader: Reader, headDim: number, hasSections: boolean): CheckedAngles {
  const rotaryDim = reader.integer(0, headDim);
  const base = reader.double();
  const interleaved = reader.integer(0, 1) === 1;
  const kind = ANGLE_KINDS[reader.integer(0, ANGLE_KINDS.length - 1)]!;
  const numbers = {
    factor: reader.double(),
    originalLength: reader.double(),
    sequenceLength: reader.double(),
    betaFast: reader.double(),
    betaSlow: reader.double(),
    truncate: reader.integer(0, 1) === 1,
    attentionFactor: reader.double(),
    mscale: reader.double(),
    mscaleAllDim: reader.double(),
    lowFreqFactor: reader.double(),
    highFreqFactor: reader.double(),
  };
  const width = rotaryDim || headDim;
  reader.require(width >= 2 && width % 2 === 0 && isPositive(base));
  const pairs = width / 2;
  const numbersOf = () => [reader.integer(0, pairs), reader.integer(0, pairs), reader.integer(0, pairs)];
  const sections = hasSections ? numbersOf() : undefined;
  reader.require(!sections || sections.reduce((sum, count) => sum + count, 0) === pairs);
  const plain = { rotaryDim, base, interleaved, scaling: undefined, ...(sections && { sections }) };
  if (kind === "frequencies") {
    const { attentionFactor } = numbers;
    const frequencies = reader.doubles(pairs);
    reader.require(isZeroOrPositive(attentionFactor) && frequencies.every(Number.isFinite));
    return { ...plain, frequencies, attentionFactor };
  }
  if (kind === "tables") {
    const rows = reader.integer(1, MOST);
    return { ...plain, tables: { cos: reader.floats(rows * pairs), sin: reader.floats(rows * pairs), rows } };
  }
  if (kind === "none") return plain;
  reader.require(isPositive(numbers.factor) && SCALING_RULES[kind](numbers, base));
  const lists = kind === "longrope" && { shortFactor: reader.doubles(pairs), longFactor: reader.doubles(pairs) };
  if (lists) reader.require([...lists.shortFactor, ...lists.longFactor].every(isPositive));
  const used = SAVED_NUMBERS[kind].map((name) => [name, numbers[name as keyof typeof numbers]] as const);
  const given = used.filter(([, number]) => number !== 0 && number !== undefined); // 0 means that the option is absent
  const read = { kind, factor: numbers.factor, ...Object.fromEntries(given), ...lists };
  return { ...plain, scaling: read };
}

type Numbers = Readonly<
  Record<
    Exclude<keyof NonNullable<CheckedAngles["scaling"]>, "kind" | "truncate" | "shortFactor" | "longFactor">,
    number
  >
>;

/** The numbers of each scaling in a file, without the factor. */
const SAVED_NUMBERS: { readonly [K in RotaryScaling["kind"]]: readonly (keyof (typeof SCALINGS)[K])[] } = {
  linear: [],
  ntk: [],
  "dynamic-ntk": ["originalLength", "sequenceLength"],
  yarn: ["originalLength", "betaFast", "betaSlow", "truncate", "attentionFactor", "mscale", "mscaleAllDim"],
  llama3: ["originalLength", "lowFreqFactor", "highFreqFactor"],
  longrope: ["originalLength", "sequenceLength", "attentionFactor"],
};

/** The rules of `check_scaling` in cpp/src/position/rotary_angles.cpp for the numbers of a scaling, without the factor. */
const SCALING_RULES: Readonly<Record<RotaryScaling["kind"], (numbers: Numbers, base: number) => boolean>> = {
  linear: () => true,
  ntk: () => true,
  "dynamic-ntk": ({ factor, originalLength, sequenceLength }) =>
    factor >= 1 && isPositive(originalLength) && isZeroOrPositive(sequenceLength),
  yarn: ({ originalLength, betaFast, betaSlow, attentionFactor, mscale, mscaleAllDim }, base) =>
    base > 1 &&
    [originalLength, betaFast, betaSlow].every(isPositive) &&
    betaFast >= betaSlow &&
    [attentionFactor, mscale, mscaleAllDim].every(isZeroOrPositive),
  llama3: ({ originalLength, lowFreqFactor, highFreqFactor }) =>
    [originalLength, lowFreqFactor, highFreqFactor].every(isPositive) && highFreqFactor > lowFreqFactor,
  longrope: ({ originalLength, sequenceLength, attentionFactor }) =>
    isPositive(originalLength) && originalLength > 1 && [sequenceLength, attentionFactor].every(isZeroOrPositive),
};

function isPositive(x: number): boolean {
  return Number.isFinite(x) && x > 0;
}

function isZeroOrPositive(x: number): boolean {
  return x === 0 || isPositive(x);
}

class Writer {
  constructor(
    readonly view: DataView,
    private at: number,
  ) {}

  integers(...values: readonly number[]): void {
    for (const value of values) {
      this.view.setBigInt64(this.at, BigInt(value), true);
      this.at += NUMBER;
    }
  }

  float(value: number): void {
    this.view.setFloat32(this.at, value, true);
    this.at += FLOAT;
  }

  double(value: number): void {
    this.view.setFloat64(this.at, value, true);
    this.at += NUMBER;
  }
}

/** Reads numbers and remembers whether each was allowed. A number beyond the end is not allowed. */
class Reader {
  isPossible = true;

  constructor(
    readonly view: DataView,
    private at: number,
    readonly end: number,
  ) {}

  get left(): number {
    return this.end - this.at;
  }

  integer(least: number, most: number): number {
    const value = this.#next((at) => Number(this.view.getBigInt64(at, true)));
    const fits = value >= least && value <= most;
    this.require(fits);
    return fits ? value : least;
  }

  /** Any number, also NaN: whether it is allowed depends on other numbers. */
  double(): number {
    return this.#next((at) => this.view.getFloat64(at, true));
  }

  /** None if there are fewer bytes. */
  doubles(count: number): Float64Array {
    this.require(this.isPossible && count * NUMBER <= this.left);
    return this.isPossible ? Float64Array.from({ length: count }, () => this.double()) : new Float64Array();
  }

  /** None if there are fewer bytes. */
  floats(count: number): Float32Array {
    this.require(this.isPossible && count * FLOAT <= this.left);
    if (!this.isPossible) return new Float32Array();
    const first = this.at;
    this.at += count * FLOAT;
    return Float32Array.from({ length: count }, (_, n) => this.view.getFloat32(first + n * FLOAT, true));
  }

  require(isPossible: boolean): void {
    this.isPossible &&= isPossible;
  }

  #next(read: (at: number) => number): number {
    const at = this.at;
    this.at += NUMBER;
    return this.at <= this.end ? read(at) : NaN;
  }
}
