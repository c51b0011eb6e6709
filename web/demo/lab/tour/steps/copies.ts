import type { Engine } from "../../engine/engine.js";
import type { Floats } from "../../engine/floats.js";
import { t } from "../../../texts/t.js";
import type { Outcome, Step } from "../step.js";

/** Different tokens; the sequence has each of them twice. */
const TOKENS = 16;
/** Scores of a head that has found what it looks for. All others are 0. */
const SURE = 40;

export interface Copies {
  /** How many repeated tokens the two layers predict. */
  readonly two: number;
  readonly one: number;
  /** How many there are to predict. */
  readonly all: number;
}

/**
 * Heads made by hand on a repeated sequence. The head of the first layer looks one back, so that every token then knows
 * what stood before it. The head of the second layer looks for the token whose predecessor is its own token. Alone, it
 * can only look for its own token.
 */
export async function copies(engine: Engine): Promise<Copies> {
  const length = 2 * TOKENS;
  const place = (shift: number) => hot(length, length, (token) => token + shift);
  const own = hot(length, TOKENS, (token) => (7 * token) % TOKENS);
  const attend = async (query: Floats, key: Floats, excludeSelf = false) => {
    const options = { causal: true, excludeSelf, scale: SURE };
    const { output } = await engine.scaledDotProductAttention(query, key, own, options);
    return { data: output.data as Float32Array, shape: own.shape };
  };
  const before = await attend(place(0), place(1), true); // nothing stands before the first token
  const count = (said: Floats) => {
    let right = 0;
    for (let token = TOKENS; token < length - 1; token++)
      right += Number(largest(said, token) === largest(own, token + 1));
    return right;
  };
  return { two: count(await attend(own, before)), one: count(await attend(own, own)), all: TOKENS - 1 };
}

/** Rows with a 1 in one column and 0 in all others; no 1 if the column does not exist. */
function hot(rows: number, columns: number, column: (row: number) => number): Floats {
  const data = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) if (column(row) < columns) data[row * columns + column(row)] = 1;
  return { data, shape: [rows, columns] };
}

/** The column of the largest number of a row. */
function largest({ data }: Floats, row: number): number {
  const numbers = data.subarray(row * TOKENS, (row + 1) * TOKENS);
  return numbers.indexOf(Math.max(...numbers));
}

export function outcome({ two, one, all }: Copies): Outcome {
  const why = t`A head finds a key by what the key holds. In the first layer it holds only its own token. In the second layer it also holds the token before, and a query can ask for that.`;
  const said = t`With heads made by hand, two layers predict ${two} of ${all} repeated tokens, and one layer ${one}. ${why} Let the models above learn, and see whether they find the same.`;
  return { right: one === all ? 0 : two === all ? 1 : 2, said };
}

export const copiesStep: Step = {
  room: "train",
  before: "heads=2&control=false",
  after: "heads=2",
  look: ".tile-rows",
  question: t`Tokens in a random order are read twice. In the second half every token could be predicted: it followed the same token before. How many layers of attention does that need?`,
  answers: [t`One is enough`, t`Two are enough, one is not`, t`Two are not enough`],
  reveal: async (engine) => outcome(await copies(engine)),
};
