/** Numbers from −1 to 1 that look random and are the same in every run. */
export class Numbers {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** One number from −1 to 1. */
  next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return this.#state / 2 ** 31 - 1;
  }

  floats(length: number, factor = 1): Float32Array<ArrayBuffer> {
    return Float32Array.from({ length }, () => factor * this.next());
  }

  /** A mask in which about a quarter is hidden. The first key stays visible. */
  mask(rows: number, keys: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length: rows * keys }, (_, n) => Number(n % keys === 0 || this.next() > -0.5));
  }
}
