import { placeOf } from "./lifetimes.js";
import {
  withTensors,
  type LinearPart,
  type MapPart,
  type Rows,
  type StepPart,
  type StepProblem,
} from "./stepProblem.js";
import type { PlacedTensor } from "../tensor/tensor.js";

/**
 * The same step, in which products also compute the maps of their results: the kernel of a product applies the map to each
 * number before it stores it. That saves a kernel, and writing and reading the product's own result.
 *
 * A map is joined with a product if it reads all of the result as it lies, nothing else reads it, and the map reads at most
 * one other tensor. A product has at most one map. It moves to the place of the map, where that other tensor is there.
 */
export function withJoinedMaps(problem: StepProblem): StepProblem {
  const { places } = problem;
  const uses = usesOf(problem);
  /** By the number of the array in which their results lie. */
  const products = new Map<number, LinearPart>();
  const joined = new Set<StepPart>();
  const gone = new Set<number>();
  const join = (part: MapPart): LinearPart | undefined => {
    const n = placeOf(places, part.x.tensor);
    const product = products.get(n);
    // The product writes the array, and the map reads it.
    if (!product || uses[n] !== 2 || (part.times && part.plus) || !readsAll(part, product)) return undefined;
    joined.add(product);
    gone.add(n);
    const { output } = product.problem;
    const into = { ...output.into!, place: part.y };
    return { kind: "linear", map: part, problem: { ...product.problem, output: { ...output, into } } };
  };
  const parts = problem.parts.map((part) => {
    if (part.kind === "linear") products.set(placeOf(places, part.problem.output.into!.place), part);
    return part.kind === "map" ? (join(part) ?? join(swapped(part)) ?? part) : part;
  });
  return {
    ...problem,
    parts: parts.filter((part) => !joined.has(part)),
    places: places.filter((_, n) => !gone.has(n)),
  };
}

/** How many inputs, outputs and arguments of parts lie in each array. */
function usesOf({ parts, inputs, outputs, places }: StepProblem): readonly number[] {
  const uses = places.map(() => 0);
  const count = <T extends PlacedTensor>(tensor: T): T => {
    const n = placeOf(places, tensor);
    if (n >= 0) uses[n]! += 1;
    return tensor;
  };
  inputs.forEach(count);
  parts.forEach((part) => withTensors(part, count));
  outputs.forEach(({ x }) => count<PlacedTensor>(x.tensor));
  return uses;
}

function readsAll({ rows, width, x: { offset, stride } }: MapPart, { problem }: LinearPart): boolean {
  const isDense = offset === 0 && (stride === width || rows === 1);
  return isDense && rows === problem.rows && width === problem.outputDim;
}

/** A plain sum or product with its operands the other way round, which changes no bit. Other maps stay as they are. */
function swapped(part: MapPart): MapPart {
  const { f, divisor, scale, x, times, plus } = part;
  if (f || divisor !== 1 || scale !== 1) return part;
  const other = (operand: Rows | undefined) => operand && x;
  return { ...part, x: times ?? plus ?? x, times: other(times), plus: other(plus) };
}
