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
  readonly key: string;
  readonly id: number;
  readonly group: GPUBindGroup;
  spans: readonly Span[];
  /** Whether it was asked for again since it was last put at the end of all that are kept. */
  isUsed: boolean;
  /** The group that was asked for after this one. A call that is repeated asks in the same order. */
  next: Kept | undefined;
}

/** The bind groups of a device's calls. A call that is repeated with the same buffers finds them again. */
export class BindGroups {
  readonly #device: GPUDevice;
  /** By pipeline, buffers and ranges. The first one is forgotten; if it was used, it comes to the end instead. */
  readonly #kept = new Map<string, Kept>();
  readonly #keysOf = new WeakMap<GPUBuffer, Set<string>>();
  readonly #numberOf = new WeakMap<GPUBuffer, number>();
  #buffers = 0;
  #latest: Kept | undefined;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  of(compiled: Compiled, bindings: readonly Binding[]): GPUBindGroup {
    const expected = this.#latest?.next;
    const found = expected && isOf(expected, compiled, bindings) ? used(expected) : this.#find(compiled, bindings);
    if (this.#latest) this.#latest.next = found;
    this.#latest = found;
    return found.group;
  }

  #find({ id, layout }: Compiled, bindings: readonly Binding[]): Kept {
    const places = bindings.map(({ span }) => `${this.#number(span.buffer)}:${span.offset}:${span.bytes}`);
    const key = `${id}|${places.join("|")}`;
    const found = this.#kept.get(key);
    if (found) return used(found);
    const entries = bindings.map(({ binding, span: { buffer, offset, bytes } }) => ({
      binding,
      resource: { buffer, offset, size: bytes },
    }));
    const group = this.#device.createBindGroup({ layout, entries });
    const spans = bindings.map(({ span: { buffer, offset, bytes } }) => ({ buffer, offset, bytes }));
    const made = { key, id, group, spans, isUsed: false, next: undefined };
    this.#keep(made);
    return made;
  }

  /** Forgets all bind groups of a buffer: it was or will be destroyed. */
  drop(buffer: GPUBuffer): void {
    for (const key of this.#keysOf.get(buffer) ?? []) this.#forget(key);
  }

  clear(): void {
    for (const key of [...this.#kept.keys()]) this.#forget(key);
  }

  #keep(kept: Kept): void {
    if (this.#kept.size === MOST) this.#forgetOne();
    const { key } = kept;
    this.#kept.set(key, kept);
    for (const { buffer } of kept.spans) {
      const keys = this.#keysOf.get(buffer) ?? new Set();
      this.#keysOf.set(buffer, keys.add(key));
    }
  }

  #forgetOne(): void {
    for (const [key, kept] of this.#kept) {
      if (!kept.isUsed) return this.#forget(key);
      kept.isUsed = false;
      this.#kept.delete(key);
      this.#kept.set(key, kept); // comes last, so the loop ends
    }
  }

  #forget(key: string): void {
    const kept = this.#kept.get(key);
    if (!kept) return;
    for (const { buffer } of kept.spans) this.#keysOf.get(buffer)?.delete(key);
    this.#kept.delete(key);
    kept.spans = []; // it may be the next of another one, and must not be found there
    kept.next = undefined;
  }

  #number(buffer: GPUBuffer): number {
    let number = this.#numberOf.get(buffer);
    if (number === undefined) this.#numberOf.set(buffer, (number = this.#buffers++));
    return number;
  }
}

function used(kept: Kept): Kept {
  kept.isUsed = true;
  return kept;
}

/** Whether a group is that of a pipeline with these bindings. */
function isOf({ id, spans }: Kept, compiled: Compiled, bindings: readonly Binding[]): boolean {
  if (id !== compiled.id || spans.length !== bindings.length) return false;
  return bindings.every(({ span }, n) => {
    const known = spans[n]!;
    return span.buffer === known.buffer && span.offset === known.offset && span.bytes === known.bytes;
  });
}
