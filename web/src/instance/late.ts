/** Something that is loaded when it is first wanted. A failure is not kept: the next call tries again. */
export class Late<T> {
  readonly #load: (operation: string) => Promise<T>;
  #loading: Promise<T> | undefined;
  /** What has been loaded. */
  loaded: T | undefined;

  /** @param load - Is told the public function that wants it, the first word of every message. */
  constructor(load: (operation: string) => Promise<T>) {
    this.#load = load;
  }

  load(operation: string): Promise<T> {
    return (this.#loading ??= this.#start(operation));
  }

  async #start(operation: string): Promise<T> {
    try {
      return (this.loaded = await this.#load(operation));
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }
}
