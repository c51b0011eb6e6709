import { named, type Difference } from "./difference.js";

interface Waiting {
  resolve(differences: readonly Difference[]): void;
  reject(error: Error): void;
}

/** Comparisons with double precision that a worker has been asked for. It answers in the order of the questions. */
export class Checks {
  readonly #waiting: Waiting[] = [];

  /** Resolves with the next answer that no earlier question waits for. */
  ask(say: () => void): Promise<readonly Difference[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      say();
    });
  }

  answer(differences: readonly Difference[]): void {
    this.#waiting.shift()?.resolve(named(differences));
  }

  /** The worker has ended, and answers no more. */
  end(error: Error): void {
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}
