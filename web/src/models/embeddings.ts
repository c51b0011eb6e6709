import { normOf, type Design } from "./design.js";
import type { Arithmetic } from "./arithmetic.js";
import type { LearnedPositions } from "./family.js";
import { isShown, type ModelInput } from "./modelInput.js";
import type { RowNumbers } from "./matrix.js";
import type { Table } from "./parts.js";

/** What comes before the first block. */
export interface EmbeddingPart {
  readonly words: Table;
  /** The largest number of tokens that have a position; undefined: no limit. */
  readonly limit: number | undefined;
  readonly numTokenTypes: number | undefined;
  /** The tables whose rows are added, and the numbers of the rows. */
  readonly tables: readonly EmbeddingTable[];
  /** `[…, S, modelDim]` from the rows of each table. */
  readonly joined: <T>(rows: readonly T[], on: Arithmetic<T>) => T;
}

/** A table of embeddings. */
export interface EmbeddingTable {
  readonly table: Table;
  /** The rows of tokens `[…, S]`; `start` is the position of the first one. */
  readonly numbers: (input: ModelInput, start: number) => RowNumbers;
}

/** norm(words + kinds + positions), of which a family has some. */
export function embeddingsOf(design: Design): EmbeddingPart {
  const { family, json, parts, config, named } = design;
  const { factor, positions, kinds, norm } = family.embeddings;
  const { vocabSize, modelDim, maxLength } = config;
  const table = (name: string, rows: number) => parts.table(named(name), [rows, modelDim]);
  const ofWords = table(wordsOf(design), vocabSize);
  const zero = positions?.counted?.zero(json);
  const limit = positions && (positions.counted?.isOfRows ? maxLength - zero! - 1 : maxLength);
  const ofPlaces = positions && table(positions.name, zero === undefined ? limit! : limit! + zero + 1);
  const numTokenTypes = kinds?.count(json);
  const ofKinds = kinds && table(kinds.name, numTokenTypes!);
  const last = normOf(design, norm);
  const times = factor?.(modelDim);
  return {
    words: ofWords,
    limit,
    numTokenTypes,
    tables: [
      { table: ofWords, numbers: (input) => input },
      ...(ofKinds ? [{ table: ofKinds, numbers: (input: ModelInput) => input.tokenTypes ?? zeros(input) }] : []),
      ...(ofPlaces
        ? [{ table: ofPlaces, numbers: (input: ModelInput, start: number) => placesOf(positions, zero, input, start) }]
        : []),
    ],
    joined([words, ...others], on) {
      const first = times === undefined ? words! : on.scaled(words!, times);
      return last(
        others.reduce((sum, rows) => on.add(sum, rows), first),
        on,
      );
    },
  };
}

/** The name of the table of words. One that the head shares may have the head's name only: safetensors keeps one of both. */
function wordsOf({ family: { embeddings, heads }, isTied, named, parts }: Design): string {
  const isThere = (name: string) => parts.has(`${named(name)}.weight`);
  const { words } = embeddings;
  const decoder = isTied ? heads.words?.decoder : undefined;
  return decoder !== undefined && isThere(decoder) && !isThere(words) ? decoder : words;
}

const zeros = ({ data, shape }: ModelInput): RowNumbers => ({ data: new Int32Array(data.length), shape });

/** The rows of positions: `[S]` if they are the same in every text, otherwise those of each token. */
function placesOf(
  { counted }: LearnedPositions,
  zero: number | undefined,
  input: ModelInput,
  start: number,
): RowNumbers {
  const { data, shape } = input;
  const length = shape.at(-1)!;
  if (!counted) return { data: Int32Array.from({ length }, (_, token) => start + token), shape: [length] };
  let count = 0;
  const rows = data.map((token, n) => {
    if (n % length === 0) count = start;
    const counts = counted.counts === "others" ? token !== zero : isShown(input, n);
    return counts ? zero! + ++count : zero!;
  });
  return { data: rows, shape };
}
