import { assertIntact } from "../base/intact.js";
import type { WeightDtype } from "../linear/weight.js";
import type { CheckedTensor } from "../tensor/tensor.js";
import type { LayerProblem } from "./layerProblem.js";
import type { LinearWeights } from "./layerWeights.js";

/** The problem with copies of its weights. An engine that gets the layer long after the call needs them. */
export function withOwnWeights(problem: LayerProblem): LayerProblem {
  const copies = new Map<object, CheckedTensor["data"]>(); // several roles may share one array of packed weights; it is copied once
  const copyOf = <T extends CheckedTensor<WeightDtype>>(tensor: T): T => {
    if (tensor.dtype === "int8") return tensor; // callers give floats, so it is a rounded copy
    assertIntact(problem.operation, "a weight", tensor.data);
    const data = copies.get(tensor.data) ?? (tensor.data as Float32Array | Uint16Array).slice();
    copies.set(tensor.data, data);
    return { ...tensor, data, address: undefined };
  };
  const linear = <L extends LinearWeights | undefined>(weights: L): L =>
    weights && {
      ...weights,
      weight: copyOf(weights.weight),
      bias: weights.bias && { ...weights.bias, tensor: copyOf(weights.bias.tensor) },
    };
  const { query, key, value, output } = problem.weights;
  const { position } = problem;
  return {
    ...problem,
    weights: { query: linear(query), key: linear(key), value: linear(value), output: linear(output) },
    position: position.kind === "learned" ? { ...position, table: copyOf(position.table) } : position,
  };
}
