import type { CacheForm } from "../../cache/cacheProblem.js";
import { droppedTokens, heldLength } from "../../cache/heldTokens.js";
import { meanBytes, savedRowBytes, scalesOf, versionOf } from "../../cache/savedRows.js";
import type { Buffers } from "../device/buffers.js";
import type { Call, Span } from "../call/call.js";
import type { GpuCore } from "../call/core.js";
import { BYTES } from "../kernels/kernel.js";
import { checkBytes, divideUp } from "../plan/limits.js";
import { stridesOf, type Strides } from "../plan/strides.js";

/** Keys or values. */
export type Side = "key" | "value";
export const SIDES: readonly Side[] = ["key", "value"];

/** Consecutive rows that lie in consecutive places. */
export interface Run {
  readonly place: number;
  readonly count: number;
}

const FLOAT_BYTES = 4;
const LOAD_BYTES = 16;

export function padded(width: number): number {
  return 4 * divideUp(width, 4);
}

/** Bytes of a stored row without its scale. Rows are padded to whole vec4. */
export function rowBytes(form: Pick<CacheForm, "dtype">, width: number): number {
  return BYTES[form.dtype] * padded(width);
}

export function widthOf({ headDim, valueDim }: CacheForm, side: Side): number {
  return side === "key" ? headDim : valueDim;
}

/** The places of the rows [from, to) of batch b after `total` tokens were appended to it. */
export function runsOf(form: Pick<CacheForm, "ring">, total: number, b: number, from: number, to: number): Run[] {
  const dropped = droppedTokens(form, total, b);
  if (!form.ring || dropped === 0) return runs([[from, to, from]]);
  const { keepFirst, window } = form.ring;
  const seam = dropped % window;
  const wrap = keepFirst + window - seam; // the row at the place where the ring begins
  const piece = (begin: number, end: number, place: number): [number, number, number] => {
    const first = Math.max(from, begin);
    return [first, Math.min(to, end), place + first - begin];
  };
  return runs([
    piece(0, keepFirst, 0),
    piece(keepFirst, wrap, keepFirst + seam),
    piece(wrap, keepFirst + window, keepFirst),
  ]);
}

/** The place of a row of batch b after `total` tokens were appended to it; undefined if there is no such row. */
export function placeOf(form: Pick<CacheForm, "ring">, total: number, b: number, row: number): number | undefined {
  if (row >= heldLength(form, total, b)) return undefined;
  if (!form.ring || row < form.ring.keepFirst) return row;
  const { keepFirst, window } = form.ring;
  return keepFirst + ((row - keepFirst + droppedTokens(form, total, b)) % window);
}

function runs(pieces: readonly [begin: number, end: number, place: number][]): Run[] {
  return pieces.filter(([begin, end]) => end > begin).map(([begin, end, place]) => ({ place, count: end - begin }));
}

/**
 * Memory of a cache: [B, Hkv, places, row] for keys, and the same for values. The scales of int8 rows, [B, Hkv, places,
 * scales], follow after all rows, and after those of keys the means of their heads, [B, Hkv, row] as float32. Forks share
 * a store until one of them writes.
 */
export class CacheStore {
  readonly form: CacheForm;
  readonly places: number;
  readonly #memory: Pick<Buffers, "make" | "free">;
  readonly #buffers: Readonly<Record<Side, GPUBuffer>>;
  #owners = 1;

  /** @param memory - Where the buffers come from, and where `release` gives them back. */
  constructor(
    { device, buffers }: GpuCore,
    operation: string,
    form: CacheForm,
    places: number,
    memory: Pick<Buffers, "make" | "free"> = buffers,
  ) {
    this.form = form;
    this.places = places;
    this.#memory = memory;
    const means = form.dtype === "int8" ? form.batchSize * form.numKvHeads * this.#meanBytes : 0;
    const bytes = (side: Side) => this.#scalesEnd(side) + (side === "key" ? means : 0);
    for (const side of SIDES) checkBytes(operation, `the cache's ${side}s`, bytes(side), device.limits);
    const key = memory.make(bytes("key"));
    try {
      this.#buffers = { key, value: memory.make(bytes("value")) };
    } catch (error) {
      memory.free(key);
      throw error;
    }
  }

  get bytes(): number {
    return this.#buffers.key.size + this.#buffers.value.size;
  }

  get isShared(): boolean {
    return this.#owners > 1;
  }

  share(): this {
    this.#owners += 1;
    return this;
  }

  /** Removes one owner. The last owner frees the memory. */
  release(): void {
    this.#owners -= 1;
    if (this.#owners === 0) for (const side of SIDES) this.#memory.free(this.#buffers[side]);
  }

  span(side: Side): Span {
    const buffer = this.#buffers[side];
    return { buffer, offset: 0, bytes: buffer.size };
  }

  /** Strides of a side as [B, Hkv, places, row], in elements. */
  strides(side: Side): Strides {
    return stridesOf("BHSD", this.form.numKvHeads, this.places, padded(widthOf(this.form, side)));
  }

  /** For kernels: the first word of the scales of a side. */
  firstScale(side: Side): number {
    return this.#scalesAt(side) / FLOAT_BYTES;
  }

  /** For kernels: the first word of the means of keys. */
  firstMean(): number {
    return this.#scalesEnd("key") / FLOAT_BYTES;
  }

  /** The scales of consecutive places of one head. */
  scalesAt(side: Side, head: number, { place, count }: Run): Span {
    const row = this.scaleBytes(side);
    const offset = this.#scalesAt(side) + (head * this.places + place) * row;
    return { buffer: this.#buffers[side], offset, bytes: count * row };
  }

  /** Bytes of the scales of a row. */
  scaleBytes(side: Side): number {
    return FLOAT_BYTES * scalesOf(this.form, widthOf(this.form, side));
  }

  /** The means of the keys of consecutive heads. */
  meansAt(head: number, count: number): Span {
    const offset = this.#scalesEnd("key") + head * this.#meanBytes;
    return { buffer: this.#buffers.key, offset, bytes: count * this.#meanBytes };
  }

  /** The bytes of consecutive places of one head. Heads are numbered over all batches. */
  at(side: Side, head: number, { place, count }: Run): Span {
    const row = rowBytes(this.form, widthOf(this.form, side));
    const offset = head * this.#headBytes(side) + place * row;
    return { buffer: this.#buffers[side], offset, bytes: count * row };
  }

  /**
   * Copies runs of batch b, for every head, to runs of a batch of another store, by default of the same batch. They have
   * as many rows in all. The copies run before the call's kernels.
   */
  copyTo(call: Call, to: CacheStore, b: number, from: readonly Run[], into: readonly Run[], batch = b): void {
    const { numKvHeads } = this.form;
    if (this.form.dtype === "int8")
      call.copyIn(this.meansAt(b * numKvHeads, numKvHeads), to.meansAt(batch * numKvHeads, numKvHeads));
    for (const [run, target] of matched(from, into))
      for (let h = 0; h < numKvHeads; ++h)
        for (const side of SIDES) {
          const [source, copy] = [b * numKvHeads + h, batch * numKvHeads + h];
          call.copyIn(this.at(side, source, run), to.at(side, copy, target));
          if (this.form.dtype === "int8")
            call.copyIn(this.scalesAt(side, source, run), to.scalesAt(side, copy, target));
        }
  }

  #scalesAt(side: Side): number {
    return this.#headBytes(side) * this.form.batchSize * this.form.numKvHeads;
  }

  /** Where scales end. The kernels load 16 bytes at once, also of the scales. */
  #scalesEnd(side: Side): number {
    const rows = this.form.batchSize * this.form.numKvHeads * this.places;
    return this.#scalesAt(side) + LOAD_BYTES * divideUp(rows * this.scaleBytes(side), LOAD_BYTES);
  }

  get #meanBytes(): number {
    return FLOAT_BYTES * padded(this.form.headDim);
  }

  #headBytes(side: Side): number {
    return this.places * rowBytes(this.form, widthOf(this.form, side));
  }
}

/** The rows of two lists of runs, in pairs of runs of the same length. */
function* matched(from: readonly Run[], into: readonly Run[]): Generator<readonly [Run, Run]> {
  const rest = [...into];
  for (let run of from)
    while (run.count > 0) {
      const target = rest.shift()!;
      const count = Math.min(run.count, target.count);
      yield [
        { place: run.place, count },
        { place: target.place, count },
      ];
      run = { place: run.place + count, count: run.count - count };
      if (target.count > count) rest.unshift({ place: target.place + count, count: target.count - count });
    }
}

/** Where something lies in the bytes of a store's side and in a file: the numbers of a row, its scales, or a mean. */
interface RowPlace {
  readonly side: Side;
  readonly stored: number;
  readonly filed: number;
  readonly bytes: number;
  /** How often it lies in the store, side by side. Default 1. */
  readonly times?: number;
}

/** In a file of int8 a head's keys have their mean first. A head's rows are in order of position, then come their scales. */
function* rowPlaces(store: CacheStore, appended: readonly number[], version: number): Generator<RowPlace> {
  const { form } = store;
  let filed = 0;
  for (const [b, total] of appended.entries()) {
    const length = heldLength(form, total, b);
    if (length === 0) continue;
    for (let head = b * form.numKvHeads; head < (b + 1) * form.numKvHeads; ++head)
      for (const side of SIDES) {
        const width = widthOf(form, side);
        if (side === "key" && meanBytes(form, version) > 0) {
          yield { side, stored: store.meansAt(head, 1).offset, filed, bytes: meanBytes(form, version) };
          filed += meanBytes(form, version);
        }
        const [bytes, scales] = [BYTES[form.dtype] * width, filed + length * BYTES[form.dtype] * width];
        const scaleBytes = FLOAT_BYTES * scalesOf(form, width, version);
        const times = store.scaleBytes(side) / scaleBytes;
        let row = 0;
        for (const { place, count } of runsOf(form, total, b, 0, length))
          for (let n = 0; n < count; ++n, ++row) {
            const stored = store.at(side, head, { place: place + n, count: 1 }).offset;
            yield { side, stored, filed: filed + row * bytes, bytes };
            if (form.dtype === "int8") {
              const scale = store.scalesAt(side, head, { place: place + n, count: 1 }).offset;
              yield { side, stored: scale, filed: scales + row * scaleBytes, bytes: scaleBytes, times };
            }
          }
        filed += length * savedRowBytes(form, width, version);
      }
  }
}

/** Copies rows from the bytes of a store into a file. */
export function fillFile(
  store: CacheStore,
  appended: readonly number[],
  from: Readonly<Record<Side, Uint8Array>>,
  file: Uint8Array,
): void {
  for (const { side, stored, filed, bytes } of rowPlaces(store, appended, versionOf(store.form.dtype)))
    file.set(from[side].subarray(stored, stored + bytes), filed);
}

/** Copies rows from a file of a version into an empty store. */
export function fillStore(
  call: Call,
  store: CacheStore,
  appended: readonly number[],
  file: Uint8Array,
  version: number,
): void {
  const sides = { key: new Uint8Array(store.span("key").bytes), value: new Uint8Array(store.span("value").bytes) };
  for (const { side, stored, filed, bytes, times = 1 } of rowPlaces(store, appended, version))
    for (let n = 0; n < times; ++n) sides[side].set(file.subarray(filed, filed + bytes), stored + n * bytes);
  for (const side of SIDES) call.write(store.span(side), 0, sides[side]);
}
