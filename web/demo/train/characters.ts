import { graphemes } from "../model/graphemes.js";
import type { Vocabulary } from "./vocabulary.js";

/** Text as numbers: each different character has an id. */
export class Characters implements Vocabulary {
  readonly #ids: ReadonlyMap<string, number>;

  /** @param all - The characters in the order of their ids. */
  constructor(readonly all: string) {
    this.#ids = new Map([...all].map((character, id) => [character, id]));
  }

  /** The characters of a text, in the order of Unicode. */
  static of(text: string): Characters {
    return new Characters([...new Set(text)].sort().join(""));
  }

  get count(): number {
    return this.#ids.size;
  }

  /** The ids of a text. Characters without an id are left out. */
  ids(text: string): Int32Array {
    return Int32Array.from([...text].flatMap((character) => this.#ids.get(character) ?? []));
  }

  get tokens(): readonly string[] {
    return [...this.all];
  }

  unknown(text: string): readonly string[] {
    return [...new Set(graphemes(text))].filter((sign) => [...sign].some((character) => !this.#ids.has(character)));
  }

  pieces(ids: Iterable<number>): readonly string[] {
    const { tokens } = this;
    return Array.from(ids, (id) => tokens[id] ?? "");
  }

  text(ids: Iterable<number>): string {
    return this.pieces(ids).join("");
  }
}
