import type { CallArguments } from "../read/callArguments.js";
import { readOptions, type NumberList } from "../read/options.js";
import type { CheckedTensor, TensorLike } from "../tensor/tensor.js";
import type { LayerProblem } from "./layerProblem.js";
import { readShaped, type LayerWeights, type LinearWeights, type Role } from "./layerWeights.js";
import { WEIGHT_OTHERS } from "./otherNames.js";
import type { WeightGradients } from "./weightGradients.js";

/** Weights for `layer.update`, by the names under which the layer got them. */
export interface LayerUpdateWeights extends LayerWeights {
  /** `[rows, inputDim]`, float32. */
  readonly "position.table"?: TensorLike<"float32"> | undefined;
  /** `[headDim]` */
  readonly "qkNorm.gain"?: NumberList | undefined;
  /** `[headDim]` */
  readonly "qkNorm.gain.query"?: NumberList | undefined;
  /** `[headDim]` */
  readonly "qkNorm.gain.key"?: NumberList | undefined;
}

/** New weights for a layer of the same shape. What is absent stays as it is. */
export interface LayerUpdate {
  readonly operation: string;
  readonly weights: Readonly<Partial<Record<Role, Partial<LinearWeights>>>>;
  readonly queryGain?: Float32Array;
  readonly keyGain?: Float32Array;
  readonly positionTable?: CheckedTensor<"float32">;
  readonly signal: AbortSignal | undefined;
}

/** Reads and checks a call of update: any of the names under which the layer's weights were given. */
export function layerUpdate(
  call: CallArguments,
  { shapes, weights, biases, positionTable, queryGain, keyGain }: WeightGradients,
  givenWeights: unknown,
  givenOptions: unknown,
): LayerUpdate {
  const options = readOptions(call, givenOptions, ["signal"]);
  const given = readOptions(call, givenWeights, Object.keys(shapes), "weights", "option", WEIGHT_OTHERS);
  const tensorOf = (name: string) => readShaped(given, name, shapes[name]!);
  const linear = (role: Role): Partial<LinearWeights> => {
    const place = weights[role];
    const bias = biases[role];
    return {
      ...(place && given.has(place.name) && { ...placeOf(place), weight: tensorOf(place.name) }),
      ...(bias && given.has(bias.name) && { bias: { tensor: tensorOf(bias.name), offset: bias.offset } }),
    };
  };
  const gain = (name: string | undefined) => (name === undefined ? undefined : given.floats(name, shapes[name]![0]));
  const [newQueryGain, newKeyGain] = [gain(queryGain), gain(keyGain)];
  const table = positionTable && given.tensor(positionTable, ["float32"], shapes[positionTable]);
  if (table) readShaped(given, positionTable, shapes[positionTable]!);
  return {
    operation: call.operation,
    weights: { query: linear("query"), key: linear("key"), value: linear("value"), output: linear("output") },
    ...(newQueryGain && { queryGain: newQueryGain }),
    ...(newKeyGain && { keyGain: newKeyGain }),
    ...(table && { positionTable: table }),
    signal: options.signal(),
  };
}

function placeOf({ offset, inStride, outStride }: Omit<LinearWeights, "weight" | "bias">) {
  return { offset, inStride, outStride };
}

/** The problem of a layer with the new weights. */
export function updatedProblem<P extends LayerProblem>(problem: P, update: LayerUpdate): P {
  const { weights, qkNorm, position } = problem;
  const { queryGain, keyGain, positionTable } = update;
  return {
    ...problem,
    weights: {
      query: { ...weights.query, ...update.weights.query },
      key: { ...weights.key, ...update.weights.key },
      value: { ...weights.value, ...update.weights.value },
      output: weights.output && { ...weights.output, ...update.weights.output },
    },
    qkNorm: qkNorm && { ...qkNorm, ...(queryGain && { queryGain }), ...(keyGain && { keyGain }) },
    position: position.kind === "learned" && positionTable ? { ...position, table: positionTable } : position,
  };
}
