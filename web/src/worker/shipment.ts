import { assertIntact } from "../base/intact.js";
import { arrayKind, isSharedBuffer } from "../base/typedArray.js";

type TypedArray = Int8Array<ArrayBufferLike>;

/**
 * Turns data into a form that can be sent to another thread.
 *
 * A transferred array would be lost for its owner, so a copy is transferred: one copy, even if the array appears twice.
 * An array in shared memory is not copied if memory may be shared.
 */
export class Shipment {
  /** The buffers that `postMessage` transfers. */
  readonly transfer: ArrayBuffer[] = [];
  readonly #copies = new Map<unknown, unknown>();

  readonly #operation: string;

  constructor(operation: string) {
    this.#operation = operation;
  }

  /** The value to send. Functions are left out. */
  pack(value: unknown): unknown {
    if (typeof value === "function") return undefined;
    if (typeof value !== "object" || value === null) return value;
    if (arrayKind(value)) return this.#array(value as TypedArray);
    if (Array.isArray(value)) return value.map((element) => this.pack(element));
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.pack(part)]));
  }

  #array(data: TypedArray): unknown {
    if (isShared(data)) return data;
    const known = this.#copies.get(data);
    if (known) return known;
    assertIntact(this.#operation, "an input", data);
    const copy = data.slice();
    this.transfer.push(copy.buffer);
    this.#copies.set(data, copy);
    return copy;
  }
}

/** Whether an array lies in memory that another thread can use too. */
export function isShared({ buffer }: ArrayBufferView): boolean {
  return isSharedBuffer(buffer) && mayShare();
}

/** Whether memory may be shared with a worker: in Node, and in pages that are cross-origin isolated. */
export function mayShare(): boolean {
  return typeof SharedArrayBuffer === "function" && globalThis.crossOriginIsolated !== false;
}

/** The buffers of a result's arrays. The worker does not need them any more, so they can be transferred. */
export function buffersOf(value: unknown): ArrayBuffer[] {
  if (typeof value !== "object" || value === null) return [];
  if (arrayKind(value)) {
    const { buffer } = value as TypedArray;
    return isShared(value as TypedArray) ? [] : [buffer as ArrayBuffer];
  }
  return Object.values(value).flatMap(buffersOf);
}
