import type { Fields, Values } from "./field.js";

/** What a visitor has set in a room. It can be written into an address and read from it. */
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

  /** Takes new values; listeners hear only of real changes. */
  set(changes: Partial<Values<F>>): void {
    const changed = Object.entries(changes).some(([name, value]) => this.#values[name] !== value);
    if (!changed) return;
    this.#values = { ...this.#values, ...changes };
    for (const listener of this.#listeners) listener();
  }

  /** Takes what an address says, and the first values for what it leaves out. */
  read(query: URLSearchParams): void {
    this.set(this.#parsed(query));
  }

  /** What differs from the first values. */
  get query(): URLSearchParams {
    const changed = Object.entries(this.fields).filter(([name, { initial }]) => this.#values[name] !== initial);
    return new URLSearchParams(changed.map(([name]) => [name, String(this.#values[name])]));
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
