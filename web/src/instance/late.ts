/** A value that is loaded when it is first needed. If loading fails, the next call tries again. */
export class Late<T> {
  readonly #load: (operation: string) => Promise<T>;
  #loading: Promise<T> | undefined;
  /** The value, after it has been loaded. */
  loaded: T | undefined;

  /** @param load - Gets the name of the public function that needs the value, for messages. */
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
