import type { Vocabulary } from "./vocabulary.js";

/** Words, numbers and signs of a text; a line break is a sign. */
const PARTS = /[\p{L}\p{M}\d’'-]+|\n|[^\s]/gu;

/** Text as numbers: each word and each sign has an id. Sentences are written with a capital letter. */
export class Words implements Vocabulary {
  readonly #ids: ReadonlyMap<string, number>;

  /** @param tokens - Words and signs in the order of their ids. Only names and "I" have a capital letter. */
  constructor(readonly tokens: readonly string[]) {
    this.#ids = new Map(tokens.map((token, id) => [token, id]));
  }

  get count(): number {
    return this.tokens.length;
  }

  ids(text: string): Int32Array {
    return Int32Array.from(partsOf(text).flatMap((part) => this.#idOf(part) ?? []));
  }

  unknown(text: string): readonly string[] {
    return [...new Set(partsOf(text).filter((part) => this.#idOf(part) === undefined))];
  }

  pieces(ids: Iterable<number>): readonly string[] {
    const pieces: string[] = [];
    let isStart = true;
    let before = "\n";
    for (const id of ids) {
      const token = this.tokens[id] ?? "";
      const word = isStart ? token.charAt(0).toUpperCase() + token.slice(1) : token;
      const isJoined = /^[.,:!?”\n]$/.test(token) || /^[“\n]$/.test(before);
      // The break before a text is not shown.
      pieces.push(pieces.length === 0 && token === "\n" ? "" : isJoined ? word : ` ${word}`);
      // After “Where is it?” the sentence goes on or ends: “asked” goes on.
      isStart = /^[.?!“\n]$/.test(token) || (token === "”" && isStart && before === ".");
      before = token;
    }
    return pieces;
  }

  text(ids: Iterable<number>): string {
    return this.pieces(ids).join("");
  }

  #idOf(part: string): number | undefined {
    const small = part.toLowerCase();
    const name = small.charAt(0).toUpperCase() + small.slice(1);
    return this.#ids.get(part) ?? this.#ids.get(small) ?? this.#ids.get(name);
  }
}

/** Straight quotes open and close in turn. */
function partsOf(text: string): readonly string[] {
  let quotes = 0;
  return (text.match(PARTS) ?? []).map((part) => (part === '"' ? (quotes++ % 2 === 0 ? "“" : "”") : part));
}
