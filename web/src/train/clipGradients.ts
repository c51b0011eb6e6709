import { assertApart, flatNamed, sameMemory, type Tree } from "./parameterTree.js";
import { assertNumber } from "../tensor/plainTensor.js";

/**
 * Clips gradients by their common norm (Pascanu, Mikolov & Bengio 2013, arXiv:1211.5063): if the root of the sum of all
 * squares is above `maxNorm`, every gradient is multiplied by maxNorm / norm, in place.
 *
 * An array that stands more than once in the tree counts once.
 *
 * If the norm is not finite, nothing is changed. Then leave out the optimizer's step.
 *
 * @returns The norm before clipping.
 */
export function clipGradients(gradients: Tree, maxNorm: number): number {
  const named = flatNamed("clipGradients", "gradients", gradients);
  assertApart("clipGradients", "gradients", named);
  const arrays = sameMemory(named).map(([name]) => named[name!]!.data);
  assertNumber("clipGradients", "maxNorm", maxNorm, "a number above 0", (value) => value > 0);
  let squares = 0;
  for (const data of arrays) for (let i = 0; i < data.length; i++) squares += data[i]! * data[i]!;
  const norm = Math.sqrt(squares);
  if (norm > maxNorm && norm < Infinity) {
    const factor = maxNorm / norm;
    for (const data of arrays) for (let i = 0; i < data.length; i++) data[i]! *= factor;
  }
  return norm;
}
