interface Waiting<Answer> {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** What a worker has been asked for. It answers in the order of the questions. */
export class Answers<Answer> {
  readonly #waiting: Waiting<Answer>[] = [];
  #end: Error | undefined;

  /** Resolves with the next answer that no earlier question waits for. */
  ask(say: () => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#end);
      this.#waiting.push({ resolve, reject });
      say();
    });
  }

  answer(answer: Answer): void {
    this.#waiting.shift()?.resolve(answer);
  }

  /** The worker has ended, and answers no more. */
  end(error: Error): void {
    this.#end ??= error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}
