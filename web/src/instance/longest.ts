import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { Broadcast } from "../attention/attentionSettings.js";
import type { PlacedTensor } from "../tensor/tensor.js";
import { Outline } from "./outline.js";

/** No longer sequence is looked for. */
const MOST = 2 ** 24;

/**
 * The longest sequence for which a call fits: the number of keys, and of queries too if there are as many. Masks and biases
 * grow with it. undefined for a ragged batch, whose sequences differ; 0 if not even one token fits.
 */
export function longestFitting(
  problem: AttentionProblem,
  fits: (longer: AttentionProblem) => boolean,
): number | undefined {
  if (problem.ragged) return undefined;
  const fitsAt = (length: number) => fits(lengthened(problem, length));
  if (!fitsAt(1)) return 0;
  if (fitsAt(MOST)) return MOST;
  let [least, most] = [1, MOST];
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2);
    if (fitsAt(middle)) least = middle;
    else most = middle;
  }
  return least;
}

/** The same call for another length. Only its sizes are right. */
function lengthened(problem: AttentionProblem, length: number): AttentionProblem {
  const { shape, settings, query, key, value, output } = problem;
  const isSelf = shape.queryLength === shape.keyLength;
  const longer = { ...shape, keyLength: length, queryLength: isSelf ? length : shape.queryLength };
  const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = longer;
  const tensor = <T extends PlacedTensor>({ dtype }: T, ...extents: number[]): T =>
    new Outline(extents, dtype as Outline["dtype"]) as unknown as T;
  const broadcast = <T extends PlacedTensor>(given: Broadcast<T> | undefined): Broadcast<T> | undefined => {
    if (!given) return undefined;
    const [b, h, i, j] = given.extents;
    const extents = [b, h, i === 1 ? 1 : queryLength, j === 1 ? 1 : keyLength] as const;
    return { tensor: tensor(given.tensor, ...extents), extents };
  };
  return {
    ...problem,
    shape: longer,
    query: tensor(query, batchSize, numHeads, queryLength, headDim),
    key: tensor(key, batchSize, numKvHeads, keyLength, headDim),
    value: tensor(value, batchSize, numKvHeads, keyLength, valueDim),
    settings: {
      ...settings,
      mask: broadcast(settings.mask),
      bias: broadcast(settings.bias),
      keyLengths: undefined,
      queryLengths: undefined,
    },
    output: { ...output, into: undefined, shape: [batchSize, numHeads, queryLength, valueDim] },
  };
}
