import type { Compiled } from "../device/pipelines.js";
import type { Span } from "./span.js";

/** Most bind groups that are kept. A decoding step of a model with 32 layers uses some hundreds. */
const MOST = 2048;

/** A span at a binding number of a kernel. */
export interface Binding {
  readonly binding: number;
  readonly span: Span;
}

interface Kept {
  readonly group: GPUBindGroup;
  readonly buffers: readonly GPUBuffer[];
}

/** The bind groups of a device's calls. A call that is repeated with the same buffers finds them again. */
export class BindGroups {
  readonly #device: GPUDevice;
  /** By pipeline, buffers and ranges. The one that was not used for the longest time is first. */
  readonly #kept = new Map<string, Kept>();
  readonly #keysOf = new WeakMap<GPUBuffer, Set<string>>();
  readonly #numberOf = new WeakMap<GPUBuffer, number>();
  #buffers = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  of({ id, layout }: Compiled, bindings: readonly Binding[]): GPUBindGroup {
    const places = bindings.map(({ span }) => `${this.#number(span.buffer)}:${span.offset}:${span.bytes}`);
    const key = `${id}|${places.join("|")}`;
    const found = this.#kept.get(key);
    if (found) {
      this.#kept.delete(key);
      this.#kept.set(key, found);
      return found.group;
    }
    const entries = bindings.map(({ binding, span: { buffer, offset, bytes } }) => ({
      binding,
      resource: { buffer, offset, size: bytes },
    }));
    const group = this.#device.createBindGroup({ layout, entries });
    this.#keep(key, { group, buffers: bindings.map(({ span }) => span.buffer) });
    return group;
  }

  /** Forgets all bind groups of a buffer: it was or will be destroyed. */
  drop(buffer: GPUBuffer): void {
    for (const key of this.#keysOf.get(buffer) ?? []) this.#forget(key);
  }

  clear(): void {
    for (const key of [...this.#kept.keys()]) this.#forget(key);
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    for (const buffer of kept.buffers) {
      const keys = this.#keysOf.get(buffer) ?? new Set();
      this.#keysOf.set(buffer, keys.add(key));
    }
    if (this.#kept.size > MOST) this.#forget(this.#kept.keys().next().value!);
  }

  #forget(key: string): void {
    for (const buffer of this.#kept.get(key)?.buffers ?? []) this.#keysOf.get(buffer)?.delete(key);
    this.#kept.delete(key);
  }

  #number(buffer: GPUBuffer): number {
    let number = this.#numberOf.get(buffer);
    if (number === undefined) this.#numberOf.set(buffer, (number = this.#buffers++));
    return number;
  }
}
