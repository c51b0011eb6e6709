import type { CheckedPosition } from "./layerPosition.js";
import type { LinearWeights, Role } from "./layerWeights.js";
import type { CheckedQkNorm } from "./qkNorm.js";

/**
 * Where the gradient of a projection's weight goes: element (in, out) is at offset + in · inStride + out · outStride of
 * the tensor `name`. Several roles may share one packed tensor.
 */
export interface GradientPlace {
  readonly name: string;
  readonly offset: number;
  readonly inStride: number;
  readonly outStride: number;
}

/** The gradients of a layer's weights: the names and shapes under which they were given, and the part of each role. */
export interface WeightGradients {
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  readonly weights: Readonly<Partial<Record<Role, GradientPlace>>>;
  readonly biases: Readonly<Partial<Record<Role, Pick<GradientPlace, "name" | "offset">>>>;
  /** Names; undefined where the layer has none. Both gains may have one name: then it gets their sum. */
  readonly positionTable: string | undefined;
  readonly queryGain: string | undefined;
  readonly keyGain: string | undefined;
}

/** The part of a layer that says which gradients there are. */
interface LayerParts {
  readonly shape: { readonly headDim: number };
  readonly weights: Readonly<Record<Role, LinearWeights | undefined>>;
  readonly qkNorm: CheckedQkNorm | undefined;
  readonly position: CheckedPosition;
}

/** @param namesOf - The names under which a role's weight and bias were given. */
export function weightGradients(
  { shape, weights, qkNorm, position }: LayerParts,
  namesOf: (role: Role) => { readonly weight: string; readonly bias?: string },
): WeightGradients {
  const shapes: Record<string, readonly number[]> = {};
  const places: Partial<Record<Role, GradientPlace>> = {};
  const biases: Partial<Record<Role, Pick<GradientPlace, "name" | "offset">>> = {};
  for (const [role, linear] of Object.entries(weights) as [Role, LinearWeights | undefined][]) {
    if (!linear) continue;
    const { weight, offset, inStride, outStride, bias } = linear;
    const names = namesOf(role);
    shapes[names.weight] = weight.shape;
    places[role] = { name: names.weight, offset, inStride, outStride };
    if (!bias || names.bias === undefined) continue;
    shapes[names.bias] = bias.tensor.shape;
    biases[role] = { name: names.bias, offset: bias.offset };
  }
  const positionTable = position.kind === "learned" ? "position.table" : undefined;
  if (position.kind === "learned") shapes["position.table"] = position.table.shape;
  const gainName = (gain: unknown, each: string) => gain && (qkNorm!.isShared ? "qkNorm.gain" : `qkNorm.gain.${each}`);
  const queryGain = gainName(qkNorm?.queryGain, "query") as string | undefined;
  const keyGain = gainName(qkNorm?.keyGain, "key") as string | undefined;
  for (const name of [queryGain, keyGain]) if (name !== undefined) shapes[name] = [shape.headDim];
  return { shapes, weights: places, biases, positionTable, queryGain, keyGain };
}
