/** SentencePiece pieces and their log probabilities, in the order of ids. A missing score (null) counts as 0. */
export type Vocabulary = readonly (readonly [piece: string, score: number | null])[];

export interface Token {
  readonly id: number;
  /** The text of the token; `▁` is a space. For a run of unknown characters, these characters. */
  readonly text: string;
}

/** Ids below this are control symbols. They never match text. */
const RESERVED_IDS = 6;
const UNKNOWN_ID = 0;
const SPACE = "\u2581";

interface TrieNode {
  readonly next: Map<string, TrieNode>;
  id?: number;
}

/**
 * The SentencePiece unigram tokenizer of the model: it finds the segmentation with the highest sum of scores. It must
 * choose exactly as the model's own tokenizer, because other ids are another input. Of equal sums, the shorter last
 * piece wins. A sum of exactly 0 counts as "not reached yet" (":" has no score). A run of unknown characters is one
 * token.
 */
export class Tokenizer {
  readonly #vocabulary: Vocabulary;
  readonly #root: TrieNode = { next: new Map() };

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
    for (let id = RESERVED_IDS; id < vocabulary.length; id++) this.#insert(vocabulary[id]![0], id);
  }

  /** Whether the vocabulary has no piece for this token. All such tokens are one and the same input of the model. */
  isUnknown({ id }: Token): boolean {
    return id === UNKNOWN_ID;
  }

  encode(text: string): Token[] {
    const symbols = normalize(text);
    return merged(this.#bestPath(symbols), symbols);
  }

  #insert(piece: string, id: number): void {
    let node = this.#root;
    for (const symbol of piece) {
      let child = node.next.get(symbol);
      if (!child) node.next.set(symbol, (child = { next: new Map() }));
      node = child;
    }
    node.id = id;
  }

  /** The Viterbi algorithm: finds the best last piece for every end, then goes back from the end of the text. */
  #bestPath(symbols: readonly string[]): Span[] {
    const best = new Float64Array(symbols.length + 1);
    const last: Span[] = symbols.map((_, i) => ({ start: i, end: i + 1, id: UNKNOWN_ID }));
    for (let start = 0; start < symbols.length; start++) {
      for (const span of this.#spansFrom(symbols, start)) {
        const score = best[start]! + (this.#vocabulary[span.id]![1] ?? 0);
        if (best[span.end] === 0 || score >= best[span.end]!) {
          best[span.end] = score;
          last[span.end - 1] = span;
        }
      }
    }
    const path: Span[] = [];
    for (let end = symbols.length; end > 0; end = path[0]!.start) path.unshift(last[end - 1]!);
    return path;
  }

  #spansFrom(symbols: readonly string[], start: number): Span[] {
    const spans: Span[] = [];
    let node = this.#root.next.get(symbols[start]!);
    for (let end = start + 1; node; end++) {
      if (node.id !== undefined) spans.push({ start, end, id: node.id });
      node = end < symbols.length ? node.next.get(symbols[end]!) : undefined;
    }
    return spans.length > 0 ? spans : [{ start, end: start + 1, id: UNKNOWN_ID }];
  }
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly id: number;
}

/** Characters after compatibility normalisation, with ▁ for each space and one ▁ before the first word. */
function normalize(text: string): string[] {
  const normal = text.normalize("NFKC");
  return normal === "" ? [] : [...(SPACE + normal.replaceAll(" ", SPACE))];
}

function merged(path: readonly Span[], symbols: readonly string[]): Token[] {
  const tokens: { id: number; text: string }[] = [];
  for (const { start, end, id } of path) {
    const text = symbols.slice(start, end).join("");
    const previous = tokens.at(-1);
    if (id === UNKNOWN_ID && previous?.id === UNKNOWN_ID) previous.text += text;
    else tokens.push({ id, text });
  }
  return tokens;
}
