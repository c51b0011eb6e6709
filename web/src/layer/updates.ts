/** The updates of a layer's weights. An update that is aborted or fails changes nothing, so it does not count. */
export class Updates {
  #made = 0;
  #applied = 0;
  readonly #pending = new Set<number>();

  /** The number of the latest update that has run or will run. */
  get latest(): number {
    return Math.max(this.#applied, ...this.#pending);
  }

  /** Runs an update. */
  async during(work: () => Promise<void>): Promise<void> {
    const number = ++this.#made;
    this.#pending.add(number);
    try {
      await work();
      this.#applied = Math.max(this.#applied, number);
    } finally {
      this.#pending.delete(number);
    }
  }
}
