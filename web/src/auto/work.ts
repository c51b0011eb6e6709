import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import { selectedExtents, type Wanted } from "../attention/returns.js";
import type { AppendProblem } from "../cache/appendProblem.js";
import type { AttendProblem } from "../cache/attendProblem.js";
import type { CacheDtype } from "../cache/cacheDtype.js";
import type { CacheForm } from "../cache/cacheProblem.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LayerShape } from "../layer/layerShape.js";
import { product } from "../tensor/product.js";
import { BYTES, type Dtype } from "../tensor/tensor.js";
import { visiblePairs } from "./visible.js";

/** What a call has to do, as numbers that do not depend on the engine. */
export interface Work {
  /** Bytes that move between JavaScript and the engine: inputs there, results back. */
  readonly moved: number;
  /** Bytes that already lie in the engine and must be read: caches and weights. */
  readonly touched: number;
  /** Multiply-adds, without the keys that causal masks, windows and lengths hide. */
  readonly multiplyAdds: number;
  /** In how many tiles a GPU would compute it. Few tiles leave a part of the GPU idle. */
  readonly tiles: number;
}

/** A tensor as the work sees it: its size, and whether it lies in an engine already. */
interface Sized {
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  readonly address?: number | undefined;
  readonly gpu?: object | undefined;
}

export function attentionWork(problem: AttentionProblem): Work {
  const { shape, settings, ragged, query, key, value, wanted } = problem;
  const pairs = visiblePairs(shape, settings, ragged);
  return {
    moved: bytesOf(query, key, value, settings.mask?.tensor, settings.bias?.tensor) + resultBytes(problem),
    touched: 0,
    multiplyAdds: pairOperations(shape, wanted, pairs),
    tiles: tilesOf(shape),
  };
}

/** A call of `attend`, on a cache of this form. */
export function attendWork(problem: AttendProblem, form: CacheForm): Work {
  const { shape, settings, query, wanted } = problem;
  const pairs = visiblePairs(shape, settings, undefined, true);
  return {
    moved: bytesOf(query, settings.mask?.tensor, settings.bias?.tensor) + resultBytes(problem),
    touched: cacheBytes(form, shape.keyLength),
    multiplyAdds: pairOperations(shape, wanted, pairs),
    tiles: tilesOf(shape),
  };
}

/** Bytes of the tokens that `append` gets. */
export function appendedBytes({ key, value }: AppendProblem): number {
  return bytesOf(key, value);
}

/** Bytes that move from one engine to the other, or into one. */
export function moveWork(bytes: number): Work {
  return { moved: bytes, touched: 0, multiplyAdds: 0, tiles: 1 };
}

/** A call of `forward`. @param weights - Bytes of the layer's weights. */
export function forwardWork(problem: ForwardProblem, layer: LayerShape, weights: number): Work {
  const { x, key, value, shape, settings, ragged, wanted, contextLength, attendOnly, cache } = problem;
  const queries = shape.batchSize * shape.queryLength;
  const context = attendOnly ? 0 : shape.batchSize * contextLength;
  const { inputDim, keyInputDim, valueInputDim, outputDim } = layer;
  const { numHeads, numKvHeads, headDim, valueDim } = shape;
  const projections =
    queries * numHeads * (inputDim * headDim + (layer.outputProjection ? valueDim * outputDim : 0)) +
    context * numKvHeads * (keyInputDim * headDim + valueInputDim * valueDim);
  const pairs = visiblePairs(shape, settings, ragged, cache !== undefined);
  return {
    moved: bytesOf(x, key, value, settings.mask?.tensor, settings.bias?.tensor) + resultBytes(problem),
    touched: weights + (cache ? cacheBytes(cache.form, shape.keyLength) : 0),
    multiplyAdds: projections + pairOperations(shape, wanted, pairs),
    tiles: Math.max(tilesOf(shape), Math.ceil((queries * outputDim) / TILE_ROWS ** 2)),
  };
}

/** Rows of a tile of many rows, and keys of the parts into which keys are cut for few rows and for many. */
const TILE_ROWS = 64;
const FEW_ROWS = 8;
const PART_KEYS = { few: 256, many: 512 } as const;

/** Tiles of attention: rows of queries that share their keys, and parts of the keys. */
export function tilesOf({ batchSize, numHeads, numKvHeads, queryLength, keyLength }: AttentionShape): number {
  const rows = (queryLength * numHeads) / numKvHeads;
  const parts = Math.floor(keyLength / PART_KEYS[rows <= FEW_ROWS ? "few" : "many"]);
  return Math.max(1, batchSize * numKvHeads * Math.ceil(rows / TILE_ROWS) * Math.max(1, parts));
}

const STORED: Readonly<Record<CacheDtype, number>> = { float32: 4, float16: 2, int8: 1 };

/** Bytes of a cache's keys and values, for `length` tokens in each batch. */
export function cacheBytes({ batchSize, numKvHeads, headDim, valueDim, dtype }: CacheForm, length: number): number {
  return batchSize * numKvHeads * length * (headDim + valueDim) * STORED[dtype];
}

/** Inspections compute the scores of their rows again. */
function pairOperations(shape: AttentionShape, wanted: Wanted, pairs: number): number {
  const { numHeads, headDim, valueDim, queryLength } = shape;
  const again = [wanted.probs, wanted.scores?.selection, wanted.topK?.selection].map((selection) => {
    if (!selection) return 0;
    const heads = selection.heads?.length ?? numHeads;
    return (heads * (selection.queries?.length ?? queryLength)) / (numHeads * Math.max(queryLength, 1));
  });
  const passes = again.reduce((sum, part) => sum + part, 1);
  return numHeads * pairs * (headDim * passes + (wanted.output ? valueDim : 0));
}

/** Bytes of all results of a call. */
export function resultBytes({ shape, wanted, output }: Pick<AttentionProblem, "shape" | "wanted" | "output">): number {
  const { batchSize, numHeads, queryLength, keyLength } = shape;
  const rows = batchSize * numHeads * queryLength;
  const selected = (part: Parameters<typeof selectedExtents>[0]) => {
    const [heads, queries] = selectedExtents(part, shape);
    return batchSize * heads * queries;
  };
  const isCopied = wanted.output && (output.into?.place.address ?? output.into?.place.gpu) === undefined;
  return (
    (isCopied ? product(output.shape) * BYTES[output.dtype] : 0) +
    4 * rows * (Number(wanted.lse) + Number(wanted.entropy)) +
    (wanted.probs ? 4 * selected(wanted.probs) * keyLength : 0) +
    (wanted.scores ? 4 * selected(wanted.scores.selection) * keyLength : 0) +
    (wanted.topK ? 8 * selected(wanted.topK.selection) * wanted.topK.k : 0)
  );
}

/** Bytes of the tensors that lie in JavaScript. */
function bytesOf(...tensors: readonly (Sized | undefined)[]): number {
  return tensors.reduce((sum, tensor) => {
    if (!tensor || tensor.address !== undefined || tensor.gpu) return sum;
    return sum + product(tensor.shape) * BYTES[tensor.dtype];
  }, 0);
}
