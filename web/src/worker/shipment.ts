import { assertIntact } from "../call/callArguments.js";
import { arrayKind, isSharedBuffer } from "../foreign/typedArray.js";

type TypedArray = Int8Array<ArrayBufferLike>;

/**
 * Plain data on its way to another thread.
 *
 * Sending an array away would take it from its owner, so a copy is sent: one, however often the array appears. An array
 * in shared memory goes as it is, where memory may be shared.
 */
export class Shipment {
  /** What `postMessage` hands over. */
  readonly transfer: ArrayBuffer[] = [];
  readonly #copies = new Map<unknown, unknown>();

  readonly #operation: string;

  constructor(operation: string) {
    this.#operation = operation;
  }

  /** The value as it travels. Functions stay behind, and with them what they know. */
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

/** Whether an array lies in memory that another thread may look into too. */
export function isShared({ buffer }: ArrayBufferView): boolean {
  return isSharedBuffer(buffer) && mayShare();
}

/** Whether memory may be shared with a worker: in Node, and in pages that are cross-origin isolated. */
export function mayShare(): boolean {
  return typeof SharedArrayBuffer === "function" && globalThis.crossOriginIsolated !== false;
}

/** The memory of the arrays of a result, which its maker has no more use for. */
export function buffersOf(value: unknown): ArrayBuffer[] {
  if (typeof value !== "object" || value === null) return [];
  if (arrayKind(value)) {
    const { buffer } = value as TypedArray;
    return isShared(value as TypedArray) ? [] : [buffer as ArrayBuffer];
  }
  return Object.values(value).flatMap(buffersOf);
}
