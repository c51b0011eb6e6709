import type { AttentionBackwardOptions, Gradient, GradientReturns, Tensor } from "headwise";

import { differences } from "./close.js";
import type { ReferenceGradients } from "../attention-conformance/reference/referenceBackward.js";

/** A result of attentionBackward whose gradients TypeScript does not know. */
export type Gradients = Readonly<Partial<Record<Exclude<Gradient, "dTables">, Tensor>>> & {
  readonly dTables?: Readonly<Record<string, Tensor>>;
};

type Given = Pick<AttentionBackwardOptions, "query" | "key" | "value" | "bias" | "score">;

/** The shapes that gradients must have. A gradient that was not asked for has none. */
function shapesOf(given: Given, { returns, heads }: { returns: GradientReturns; heads: number }): object {
  const { query, key, value, bias } = given as unknown as Record<string, Tensor>;
  const perHead = [heads];
  const all = {
    dQuery: query!.shape,
    dKey: key!.shape,
    dValue: value!.shape,
    dBias: bias?.shape,
    dSinks: perHead,
    dHeadGain: perHead,
    dAlibiSlopes: perHead,
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => returns[name as Gradient]));
}

/**
 * The problems of each gradient: values outside of their bounds, wrong shapes or dtypes, or a gradient that was not asked
 * for. Empty if there are none.
 */
export function gradientProblems(
  given: Given,
  returns: GradientReturns,
  { dTables, ...result }: Gradients,
  reference: ReferenceGradients,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const shapes = shapesOf(given, { returns, heads: reference.forward.shape.Hq });
  const given_ = Object.fromEntries(Object.entries(result).map(([name, { shape }]) => [name, shape]));
  if (JSON.stringify(sorted(given_)) !== JSON.stringify(sorted(shapes))) found["shapes"] = { given: given_, shapes };
  for (const [name, tensor] of Object.entries(result)) {
    if (!(tensor.data instanceof Float32Array) || tensor.dtype !== "float32") found[`${name}.dtype`] = tensor.dtype;
    const lines = differences(tensor, reference[name as keyof typeof result]);
    if (lines.length > 0) found[name] = lines;
  }
  if (!returns.dTables) return dTables ? { ...found, dTables: "was not asked for" } : found;
  for (const [slot, { name }] of given.score!.graph.parameters.entries()) {
    const value = given.score!.values[slot]!;
    const lines = differences(dTables![name], reference.dTables[name]!);
    if (lines.length > 0) found[`dTables.${name}`] = lines;
    const shape = typeof value === "number" ? [] : value.extents;
    if (JSON.stringify(dTables![name]!.shape) !== JSON.stringify(shape)) found[`dTables.${name}.shape`] = shape;
  }
  return found;
}

function sorted(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
