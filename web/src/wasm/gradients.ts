import type { Gradient, PlacedGradients } from "../attention/backwardProblem.js";
import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { ScoreDerivatives } from "../formula/derivatives.js";
import { product } from "../tensor/product.js";
import { elementCount, type TypedTensor } from "../tensor/tensor.js";
import { formulaWriting } from "./formulaWriting.js";
import type { Room } from "./heap.js";
import type { GradientProperties } from "./module.js";

/** A gradient's room in the engine, and how its numbers are read after the call. */
export interface PlacedGradient {
  readonly address: number;
  readonly collect: () => TypedTensor<"float32">;
}

/** Makes room for a gradient of this shape. */
export function placeGradient(arena: Room, operation: string, name: string, shape: readonly number[]): PlacedGradient {
  const result = arena.result("float32", elementCount(operation, name, shape));
  return {
    address: result.address,
    collect: () => ({ data: result.collect(), shape: [...shape], dtype: "float32" }),
  };
}

/** Makes room for the gradients of these names and shapes that are wanted, and writes their addresses into the call. */
export function placeGradients<N extends string>(
  call: Record<NoInfer<N>, number>,
  arena: Room,
  operation: string,
  shapes: Readonly<Record<N, readonly number[] | undefined>>,
  wanted: Readonly<Record<NoInfer<N>, boolean>>,
): () => { readonly [Name in N]?: TypedTensor<"float32"> } {
  const names = (Object.keys(shapes) as N[]).filter((name) => wanted[name]);
  const collects = names.map((name) => {
    const { address, collect } = placeGradient(arena, operation, name, shapes[name]!);
    call[name] = address;
    return [name, collect] as const;
  });
  return () => Object.fromEntries(collects.map(([name, collect]) => [name, collect()])) as never;
}

/** What the gradients of attention's own arguments depend on. */
export interface GradientForm {
  readonly operation: string;
  readonly numHeads: number;
  readonly settings: AttentionSettings;
  /** Of settings.score. */
  readonly derivatives: ScoreDerivatives | undefined;
  readonly wanted: Readonly<Record<Exclude<Gradient, "dQuery" | "dKey" | "dValue">, boolean>>;
}

/**
 * Makes room for the gradients of what attention reads beside queries, keys and values. The returned function reads them
 * after the call.
 */
export function writeGradients(call: GradientProperties, arena: Room, form: GradientForm): () => PlacedGradients {
  const { operation, numHeads, settings, wanted } = form;
  const shapes = {
    dBias: settings.bias?.tensor.shape,
    dSinks: [numHeads],
    dHeadGain: [numHeads],
    dAlibiSlopes: [numHeads],
  };
  const collect = placeGradients(call, arena, operation, shapes, wanted);
  const dTables = writeTables(call, arena, form);
  return () => ({ ...collect(), ...(dTables && { dTables: dTables() }) });
}

/** Places the derivatives of the score formula, if there is one, and its parameters' gradients if they are wanted. */
function writeTables(
  call: GradientProperties,
  arena: Room,
  { operation, settings: { score }, derivatives, wanted }: GradientForm,
): (() => NonNullable<PlacedGradients["dTables"]>) | undefined {
  if (!score || !derivatives) return undefined;
  if (!wanted.dTables) {
    formulaWriting.code!.writeDerivative(call, arena, score, derivatives, undefined);
    return undefined;
  }
  const gradients = score.graph.parameters.map(({ name }, slot) => {
    const value = score.values[slot]!;
    const shape = typeof value === "number" ? [] : value.extents;
    const isRead = derivatives.reads.some((read) => read.slot === slot);
    return { name, shape, isRead, ...placeGradient(arena, operation, name, shape) };
  });
  const addresses = gradients.map(({ address }) => address);
  formulaWriting.code!.writeDerivative(call, arena, score, derivatives, addresses);
  return () =>
    Object.fromEntries(
      gradients.map(({ name, shape, isRead, collect }) => [name, isRead ? collect() : zeros(shape)] as const),
    );
}

/** The gradient of a parameter that the formula does not read: the core does not write it. */
function zeros(shape: readonly number[]): TypedTensor<"float32"> {
  const length = product(shape);
  return { data: new Float32Array(length), shape: [...shape], dtype: "float32" };
}
