import type { Floats } from "../tensor/plainTensor.js";
import { normOf, type Design } from "./design.js";
import { add, scaled } from "./elementwise.js";
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
  /** `[…, S, modelDim]` from tokens `[…, S]`; `start` is the position of the first one. */
  readonly rows: (input: ModelInput, start: number) => Floats;
}

/** norm(words + kinds + positions), of which a family has some. */
export function embeddingsOf(design: Design): EmbeddingPart {
  const { family, json, parts, config, named } = design;
  const { words, factor, positions, kinds, norm } = family.embeddings;
  const { vocabSize, modelDim, maxLength } = config;
  const table = (name: string, rows: number) => parts.table(named(name), [rows, modelDim]);
  const ofWords = table(words, vocabSize);
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
    rows(input, start) {
      let x = ofWords.rows(input);
      if (times !== undefined) x = scaled(x, times);
      if (ofKinds) x = add(x, ofKinds.rows(input.tokenTypes ?? zeros(input)));
      if (ofPlaces) x = add(x, ofPlaces.rows(placesOf(positions, zero, input, start)));
      return last(x);
    },
  };
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
