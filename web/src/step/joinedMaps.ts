import { product } from "../tensor/product.js";
import type { PlacedFloats } from "../tensor/tensor.js";
import { lifetimesOf, placeOf } from "./lifetimes.js";
import type { LayerPart, LinearPart, MapPart, Rows, StepPart, StepProblem } from "./stepProblem.js";

/** A part whose result is a product. */
type ProductPart = LinearPart | LayerPart;

/**
 * The same step, in which products also compute the maps of their results: the kernel of a product applies the map to each
 * number before it stores it. That saves a kernel, and writing and reading the product's own result.
 *
 * A map is joined with a product if it reads all of the result as it lies, nothing else reads it, and the map reads at most
 * one other tensor. A product has at most one map. It moves to the place of the map, where that other tensor is there.
 *
 * @param canMap - Whether the engine computes maps in the last product of a layer.
 */
export function withJoinedMaps(problem: StepProblem, canMap: (part: LayerPart) => boolean): StepProblem {
  const { places } = problem;
  const lifetimes = lifetimesOf(problem);
  /** By the number of the array in which their results lie. */
  const products = new Map<number, ProductPart>();
  const joined = new Set<StepPart>();
  const gone = new Set<number>();
  const join = (part: MapPart): StepPart | undefined => {
    const n = placeOf(places, part.x.tensor);
    const ended = products.get(n);
    // The product writes the array, and the map reads it.
    if (!ended || lifetimes[n]!.uses !== 2 || (part.times && part.plus) || !readsAll(part, resultOf(ended)))
      return undefined;
    joined.add(ended);
    gone.add(n);
    const { output } = ended.problem;
    const changed = { output: { ...output, into: { ...output.into!, place: part.y } } };
    return { ...ended, map: part, problem: { ...ended.problem, ...changed } } as ProductPart;
  };
  const parts = problem.parts.map((part) => {
    if (part.kind === "linear" || (part.kind === "layer" && canMap(part)))
      products.set(placeOf(places, resultOf(part)), part);
    return part.kind === "map" ? (join(part) ?? join(swapped(part)) ?? part) : part;
  });
  return {
    ...problem,
    parts: parts.filter((part) => !joined.has(part)),
    places: places.filter((_, n) => !gone.has(n)),
  };
}

const resultOf = ({ problem }: ProductPart): PlacedFloats => problem.output.into!.place;

function readsAll({ rows, width, x: { offset, stride } }: MapPart, { shape }: PlacedFloats): boolean {
  const isDense = offset === 0 && (stride === width || rows === 1);
  return isDense && width === shape.at(-1) && rows * width === product(shape);
}

/** A plain sum or product with its operands the other way round, which changes no bit. Other maps stay as they are. */
function swapped(part: MapPart): MapPart {
  const { f, divisor, scale, x, times, plus } = part;
  if (f || divisor !== 1 || scale !== 1) return part;
  const other = (operand: Rows | undefined) => operand && x;
  return { ...part, x: times ?? plus ?? x, times: other(times), plus: other(plus) };
}
