/** Code, or another value, that is there at once or is loaded when it is first needed. */
export interface Part<T> {
  /** The value, if it is here. */
  readonly loaded: T | undefined;
  /** @param operation - The public function that needs the value, for messages. */
  load(operation: string): Promise<T>;
}

/** A value that is loaded when it is first needed. If loading fails, the next call tries again. */
export class Late<T> implements Part<T> {
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

/** A value that is here. */
export const here = <T>(loaded: T): Part<T> => ({ loaded, load: () => Promise.resolve(loaded) });
