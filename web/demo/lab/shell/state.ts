import { written, type Fields, type Values } from "./field.js";

/** The settings of a room. They can be written to an address and read from it. */
export class State<F extends Fields> {
  #values: Values<F>;
  readonly #listeners = new Set<() => void>();

  constructor(
    readonly fields: F,
    query: URLSearchParams = new URLSearchParams(),
  ) {
    this.#values = this.#parsed(query);
  }

  get values(): Values<F> {
    return this.#values;
  }

  /** Sets new values. Listeners are called only if a value changes. */
  set(changes: Partial<Values<F>>): void {
    const changed = Object.entries(changes).some(([name, value]) => this.#values[name] !== value);
    if (!changed) return;
    this.#values = { ...this.#values, ...changes };
    for (const listener of this.#listeners) listener();
  }

  /** Reads the values of an address. Values that are absent there get their first value. */
  read(query: URLSearchParams): void {
    this.set(this.#parsed(query));
  }

  /** The values that differ from the first values. */
  get query(): URLSearchParams {
    const changed = Object.entries(this.fields).filter(([name, { initial }]) => this.#values[name] !== initial);
    return new URLSearchParams(changed.map(([name, field]) => [name, written(field, this.#values[name])]));
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #parsed(query: URLSearchParams): Values<F> {
    const entries = Object.entries(this.fields).map(([name, field]) => {
      const text = query.get(name);
      return [name, (text === null ? undefined : field.parse(text)) ?? field.initial];
    });
    return Object.fromEntries(entries) as Values<F>;
  }
}
