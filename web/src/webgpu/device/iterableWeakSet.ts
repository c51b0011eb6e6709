/** A set with weak references: it keeps nothing alive, and lists the values that are alive. */
export class IterableWeakSet<T extends WeakKey> {
  readonly #refs = new Set<WeakRef<T>>();
  readonly #refOf = new WeakMap<T, WeakRef<T>>();
  readonly #collected = new FinalizationRegistry<WeakRef<T>>((ref) => this.#refs.delete(ref));

  add(value: T): void {
    if (this.#refOf.has(value)) return;
    const ref = new WeakRef(value);
    this.#refs.add(ref);
    this.#refOf.set(value, ref);
    this.#collected.register(value, ref, ref);
  }

  delete(value: T): void {
    const ref = this.#refOf.get(value);
    if (!ref) return;
    this.#refs.delete(ref);
    this.#refOf.delete(value);
    this.#collected.unregister(ref);
  }

  /** The values that are alive. */
  values(): T[] {
    return [...this.#refs].map((ref) => ref.deref()).filter((value) => value !== undefined);
  }
}
