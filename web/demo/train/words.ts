import type { Vocabulary } from "./vocabulary.js";

/** An emoji of one or more characters. */
const EMOJI = /\p{RI}{2}|\p{Extended_Pictographic}(?:[\p{Emoji_Modifier}\uFE0F]|\u200D\p{Extended_Pictographic})*/u;
/** A word, or a number. */
export const WORD = /[\p{L}\p{M}\d’'-]+/gu;
/** Words, numbers and signs of a text; a line break is a sign. */
const PARTS = new RegExp(`${EMOJI.source}|${WORD.source}|\\n|[^\\s]`, "gu");

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
    const sentences = new Sentences();
    let before = "\n";
    return Array.from(ids, (id, at) => {
      const token = this.tokens[id] ?? "";
      const word = sentences.isStart ? token.charAt(0).toUpperCase() + token.slice(1) : token;
      const isJoined = /^[.,:!?”\n]$/.test(token) || /^[“\n]$/.test(before);
      sentences.read(token, before);
      before = token;
      // The break before a text is not shown.
      return at === 0 && token === "\n" ? "" : isJoined ? word : ` ${word}`;
    });
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

/** Where sentences start. One that begins with a quote goes on after it: “Where is it?” asked Ben. */
class Sentences {
  isStart = true;
  #isQuoted = false;
  #hasQuoteFirst: boolean | undefined;

  read(token: string, before: string): void {
    this.#hasQuoteFirst ??= token === "“";
    const isStop = /^[.?!]$/.test(token);
    const isOver = token === "”" && /^[.?!]$/.test(before) && !this.#hasQuoteFirst;
    if (token === "“") this.#isQuoted = true;
    if (token === "”" || token === "\n") this.#isQuoted = false;
    if (isOver || token === "\n" || (isStop && !this.#isQuoted)) this.#hasQuoteFirst = undefined;
    this.isStart = isStop || isOver || token === "“" || token === "\n";
  }
}

/** Straight quotes open and close in turn. */
function partsOf(text: string): readonly string[] {
  let quotes = 0;
  return (text.match(PARTS) ?? []).map((part) => (part === '"' ? (quotes++ % 2 === 0 ? "“" : "”") : part));
}
