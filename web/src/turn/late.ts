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

/** A part that another one comes along with. */
export function along<T>(part: Part<T>, other: Part<object>): Part<T> {
  return {
    get loaded() {
      return other.loaded && part.loaded;
    },
    async load(operation) {
      const [value] = await Promise.all([part.load(operation), other.load(operation)]);
      return value;
    },
  };
}

/** A value that is here. */
export const here = <T>(loaded: T): Part<T> => ({ loaded, load: () => Promise.resolve(loaded) });
