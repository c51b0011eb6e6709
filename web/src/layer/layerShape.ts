import { OptionError, ShapeError } from "../base/errors.js";
import type { OptionReader } from "../read/options.js";
import { flag, integer, otherwise, required } from "../read/settingKinds.js";
import { readTable } from "../read/settingTable.js";
import { extentsOf, weightOf } from "./layerWeights.js";

const extent = integer({ min: 1 });

/** A row for each option that says a size. */
export const SIZES = {
  inputDim: extent,
  keyInputDim: extent,
  valueInputDim: extent,
  modelDim: extent,
  valueHeadDim: extent,
  outputDim: extent,
  numHeads: required(extent),
  numKvHeads: extent,
  outputProjection: otherwise(flag(), true),
};

/**
 * Reads the sizes of a layer. Each size comes from the options, otherwise from the weights' shapes, otherwise from a
 * default.
 *
 * A size from a weight's shape is used only if it is a whole number of heads. If it is not, reading that weight fails
 * later, with a message that says the right shape.
 */
export function readLayerShape(options: OptionReader, weights: OptionReader): LayerShape {
  const { operation } = options;
  const given = readTable(options, SIZES);
  const { numHeads, outputProjection } = given;
  const query = extentsOf(weights, "query");
  const key = extentsOf(weights, "key");
  const value = extentsOf(weights, "value");
  const output = outputProjection ? extentsOf(weights, "output") : undefined;

  const inputDim = given.inputDim ?? positive(query?.in) ?? given.modelDim ?? refuseUntold(weights);
  const keyInputDim = given.keyInputDim ?? positive(key?.in) ?? inputDim;
  const valueInputDim = given.valueInputDim ?? positive(value?.in) ?? keyInputDim;

  // A packed weight does not show where the queries end.
  const queryWidth = query?.isPacked ? undefined : positive(query?.out);
  const wholeHeads = quotient(queryWidth, numHeads) && queryWidth;
  const modelDim = given.modelDim ?? wholeHeads ?? given.inputDim ?? queryWidth ?? inputDim;
  if (modelDim % numHeads !== 0)
    throw new ShapeError(`${operation}: numHeads must divide modelDim, got ${numHeads} and ${modelDim}`);
  const headDim = modelDim / numHeads;

  const packedContext = query?.isPacked ? query.out - modelDim : undefined;
  const outputsValueDim = quotient(output?.in, numHeads);
  const toldKvHeads = query?.isPacked
    ? quotient(packedContext, headDim + (given.valueHeadDim ?? outputsValueDim ?? headDim))
    : quotient(key?.out, headDim);
  const sharesEvenly = toldKvHeads !== undefined && numHeads % toldKvHeads === 0;
  const numKvHeads = given.numKvHeads ?? (sharesEvenly ? toldKvHeads : numHeads);
  if (numHeads % numKvHeads !== 0)
    throw new ShapeError(`${operation}: numKvHeads must divide numHeads, got ${numKvHeads} and ${numHeads}`);

  const valuesWidth = packedContext === undefined ? value?.out : packedContext - numKvHeads * headDim;
  const valueHeadDim = given.valueHeadDim ?? quotient(valuesWidth, numKvHeads) ?? outputsValueDim ?? headDim;
  const headsWidth = numHeads * valueHeadDim;
  const outputDim = given.outputDim ?? (outputProjection ? (positive(output?.out) ?? inputDim) : headsWidth);
  if (!outputProjection && outputDim !== headsWidth)
    throw new ShapeError(
      `${operation}: outputDim without output projection must be numHeads * valueHeadDim = ${headsWidth}, got ${outputDim}`,
    );
  return {
    inputDim,
    keyInputDim,
    valueInputDim,
    numHeads,
    numKvHeads,
    headDim,
    valueHeadDim,
    outputDim,
    outputProjection,
  };
}

/** Throws because no option and no weight gives the width of x. */
function refuseUntold(weights: OptionReader): never {
  const name = weights.name(weightOf(weights, "query"));
  throw new OptionError(
    `${weights.operation}: inputDim or modelDim must be given: ${name} is an array without a shape, which does not tell it`,
  );
}

function positive(extent: number | undefined): number | undefined {
  return extent === 0 ? undefined : extent;
}

/** `width` / `part` if that is a whole number greater than 0, otherwise undefined. */
function quotient(width: number | undefined, part: number): number | undefined {
  return width !== undefined && width > 0 && width % part === 0 ? width / part : undefined;
}

/** The sizes of a layer. */
export interface LayerShape {
  /** Width of x. */
  readonly inputDim: number;
  /** Width of the key context. */
  readonly keyInputDim: number;
  /** Width of the value context. */
  readonly valueInputDim: number;
  /** Number of query heads. */
  readonly numHeads: number;
  /** Number of key and value heads. */
  readonly numKvHeads: number;
  /** Width of one head of queries and keys. */
  readonly headDim: number;
  /** Width of one head of values. */
  readonly valueHeadDim: number;
  /** Width of the output. */
  readonly outputDim: number;
  /** Whether the concatenated heads are multiplied by Wo. */
  readonly outputProjection: boolean;
}
