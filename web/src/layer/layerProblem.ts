import { WEIGHTS, type WeightDtype } from "../linear/weight.js";
import type { CallArguments } from "../read/callArguments.js";
import { readOptions } from "../read/options.js";
import { flag, ofCall, oneOf, otherwise, own, signal } from "../read/settingKinds.js";
import { namesIn, readRow, readTable, type TableOf } from "../read/settingTable.js";
import { PLACE_CHOICES, type PlaceChoice } from "../tensor/place.js";
import { readPosition, type CheckedPosition, type LayerPosition } from "./layerPosition.js";
import { readLayerShape, SIZES, type LayerShape } from "./layerShape.js";
import {
  namesOfRole,
  readLinear,
  refuseBiases,
  refuseOutputWeights,
  refuseUnsupportedWeights,
  WEIGHT_NAMES,
  type LayerWeights,
  type LinearWeights,
} from "./layerWeights.js";
import { LAYER_OTHERS, WEIGHT_OTHERS } from "./otherNames.js";
import { readQkNorm, type CheckedQkNorm, type QkNorm } from "./qkNorm.js";
import { weightGradients, type WeightGradients } from "./weightGradients.js";

/** Options of `multiHeadAttention`. */
export interface LayerOptions {
  /** Width of x. Default: the input width of the query weight, otherwise modelDim. */
  readonly inputDim?: number | undefined;
  /** Width of the key context. Default: the input width of the key weight, otherwise inputDim. */
  readonly keyInputDim?: number | undefined;
  /** Width of the value context. Default: the input width of the value weight, otherwise keyInputDim. */
  readonly valueInputDim?: number | undefined;
  /**
   * Width of all queries together, a multiple of numHeads. Default: the output width of the query weight; inputDim if
   * the weights are packed.
   */
  readonly modelDim?: number | undefined;
  /**
   * Width of one head's values. Default: taken from the value weight or the output weight, otherwise modelDim /
   * numHeads.
   */
  readonly valueHeadDim?: number | undefined;
  /**
   * Width of the output. Default: the output width of the output weight, otherwise inputDim. Without output projection
   * it is numHeads · valueHeadDim.
   */
  readonly outputDim?: number | undefined;
  /** Number of query heads. */
  readonly numHeads: number;
  /** Number of key and value heads. It must divide numHeads. Default: taken from the key weight, otherwise numHeads. */
  readonly numKvHeads?: number | undefined;
  /**
   * Memory order of x, contexts and output: `"BSE"` is `[B, S, width]`, `"BES"` is `[B, width, S]`. Default `"BSE"`.
   */
  readonly layout?: "BSE" | "BES" | undefined;
  /** false: biases among the weights are refused. true, the default: the given biases are added. */
  readonly bias?: boolean | undefined;
  /** Whether the concatenated heads are multiplied by Wo. Default true. */
  readonly outputProjection?: boolean | undefined;
  /** Normalizes every head's queries and keys. Default: no norm. */
  readonly qkNorm?: QkNorm | undefined;
  /** How the layer uses positions. Default: it does not. */
  readonly position?: LayerPosition | undefined;
  /** Weights and biases of the projections. */
  readonly weights: LayerWeights;
  /**
   * In which type the layer keeps its weights: `"float16"` and `"bfloat16"` need half the bytes of float32, `"int8"` with one
   * scale for each output about a quarter. Weights are rounded when the layer is made and by `update`. Gradients are those
   * of the rounded weights. Default `"float32"`.
   */
  readonly weightDtype?: WeightDtype | undefined;
  /**
   * The engine in whose memory the weights lie. `"auto"`, the default: where the layer's calls are predicted to be fastest;
   * it may move, and keeps a copy of its weights in JavaScript for that. Only instances of backend `"auto"` have two
   * engines.
   */
  readonly placement?: PlaceChoice | undefined;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** A call of multiHeadAttention that has passed every check. */
export interface LayerProblem {
  readonly operation: string;
  readonly shape: LayerShape;
  readonly layout: "BSE" | "BES";
  readonly weights: {
    readonly query: LinearWeights;
    readonly key: LinearWeights;
    readonly value: LinearWeights;
    readonly output: LinearWeights | undefined;
  };
  /** Absent: float32; WebGPU then keeps float16 or bfloat16 if all weights have that dtype. */
  readonly weightDtype?: WeightDtype | undefined;
  readonly qkNorm: CheckedQkNorm | undefined;
  readonly position: CheckedPosition;
  /** Default `"auto"`. */
  readonly placement?: PlaceChoice;
  readonly signal: AbortSignal | undefined;
}

/** A row for each option that is neither a size nor a weight. */
const OTHERS = {
  layout: oneOf(["BSE", "BES"]),
  bias: otherwise(flag(), true),
  qkNorm: own(undefined, readQkNorm),
  position: own<CheckedPosition, LayerShape>({ kind: "none" }, readPosition),
  weightDtype: otherwise(oneOf(WEIGHTS), undefined),
  placement: oneOf(PLACE_CHOICES),
  signal: signal(),
};

/** A row for each option. */
export const LAYER = { ...SIZES, ...OTHERS, weights: ofCall() } satisfies TableOf<LayerOptions, LayerShape>;

/** A problem, and the names under which its weights were given. */
export interface NamedLayerProblem extends LayerProblem {
  readonly gradients: WeightGradients;
}

/** Reads and checks a call of multiHeadAttention. */
export function layerProblem(call: CallArguments, given: unknown): NamedLayerProblem {
  const { operation } = call;
  const options = readOptions(call, given, namesIn(LAYER), "", "option", LAYER_OTHERS);
  const weights = options.object("weights", WEIGHT_NAMES, WEIGHT_OTHERS);
  if (!weights) throw options.refuse("weights", "be given");
  refuseUnsupportedWeights(weights);
  const shape = readLayerShape(options, weights);
  if (!readRow(options, "bias", OTHERS.bias)) refuseBiases(weights);
  if (!shape.outputProjection) refuseOutputWeights(weights);
  const packing = {
    query: { in: shape.inputDim, out: shape.numHeads * shape.headDim },
    key: { in: shape.keyInputDim, out: shape.numKvHeads * shape.headDim },
    value: { in: shape.valueInputDim, out: shape.numKvHeads * shape.valueHeadDim },
  };
  const output = { in: shape.numHeads * shape.valueHeadDim, out: shape.outputDim };
  const problem: LayerProblem = {
    operation,
    shape,
    weights: {
      query: readLinear(weights, "query", packing.query, packing),
      key: readLinear(weights, "key", packing.key, packing),
      value: readLinear(weights, "value", packing.value, packing),
      output: shape.outputProjection ? readLinear(weights, "output", output, packing) : undefined,
    },
    ...readTable(options, OTHERS, shape),
  };
  return { ...problem, gradients: weightGradients(problem, (role) => namesOfRole(weights, role)) };
}
