export interface Checkpoint<T> {
  readonly step: number;
  readonly what: T;
}

/** Steps of a training that can be shown again. When there are too many, every second one is forgotten. */
export class Checkpoints<T> {
  readonly #most: number;
  readonly #kept: Checkpoint<T>[] = [];
  #every = 1;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the next one would be kept. Making one may cost something. */
  get wantsNext(): boolean {
    return this.#count % this.#every === 0;
  }

  /** Counts one more, and keeps it if it is wanted. */
  add(step: number, make: () => T): void {
    if (this.wantsNext) this.#kept.push({ step, what: make() });
    this.#count++;
    if (this.#kept.length <= this.#most) return;
    this.#every *= 2;
    const fewer = this.#kept.filter((_, index) => index % 2 === 0);
    this.#kept.splice(0, this.#kept.length, ...fewer);
  }

  get steps(): readonly number[] {
    return this.#kept.map(({ step }) => step);
  }

  /** At most so many of them, evenly, with the first one. */
  some(most: number): readonly Checkpoint<T>[] {
    const every = Math.ceil(this.#kept.length / most);
    return this.#kept.filter((_, index) => index % every === 0);
  }

  /** The one at this step, or the last one before it. */
  at(step: number): Checkpoint<T> | undefined {
    return this.#kept.findLast((kept) => kept.step <= step);
  }
}
