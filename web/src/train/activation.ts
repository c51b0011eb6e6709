import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import type { StepActivation } from "../step/stepProblem.js";
import { assertAllThere, assertShape, floats, type Floats } from "../tensor/plainTensor.js";
import { exponential } from "./exponential.js";
import { normalDensity, normalDistribution } from "./normalDistribution.js";

/** The gradient of an activation. */
export interface ActivationGradient {
  /** In the shape of x. */
  readonly dInput: Floats;
}

/** The gradients of an activation that is multiplied with a second tensor. */
export interface GatedGradients extends ActivationGradient {
  /** In the shape of x. */
  readonly dTimes: Floats;
}

/** A function of one number, and its derivative. */
interface Differentiable {
  readonly value: (x: number) => number;
  readonly slope: (x: number) => number;
}

const logistic = (u: number) => 1 / (1 + exponential(-u));

/**
 * x·σ(u(x)), with the logistic function σ. Its derivative is σ(u) + x·σ(u)·(1 − σ(u))·u′(x). Where the gate is shut both are
 * 0: there x may be infinite, and ∞·0 would be NaN.
 */
function gated(u: (x: number) => number, slopeOfU: (x: number) => number): Differentiable {
  return {
    value: (x) => {
      const open = logistic(u(x));
      return open === 0 ? -0 : x * open;
    },
    slope: (x) => {
      const open = logistic(u(x));
      const moves = open * (1 - open);
      return moves === 0 ? open : open + x * moves * slopeOfU(x);
    },
  };
}

/** 2·√(2/π), and the factor of the cube in the form of gelu with tanh. */
const SLOPE = 2 * Math.sqrt(2 / Math.PI);
const CUBE = 0.044715;
const QUICK = 1.702;

const FUNCTIONS: Readonly<Record<StepActivation, Differentiable>> = {
  gelu: {
    value: (x) => (x === -Infinity ? -0 : x * normalDistribution(x)),
    // beyond 40 the density is 0, and ∞·0 would be NaN
    slope: (x) => normalDistribution(x) + (Math.abs(x) < 40 ? x * normalDensity(x) : 0),
  },
  // (1 + tanh(u / 2)) / 2 is σ(u)
  geluTanh: gated(
    (x) => SLOPE * (x + CUBE * x * x * x),
    (x) => SLOPE * (1 + 3 * CUBE * x * x),
  ),
  quickGelu: gated(
    (x) => QUICK * x,
    () => QUICK,
  ),
  silu: gated(
    (x) => x,
    () => 1,
  ),
  relu: { value: (x) => Math.max(x, 0), slope: (x) => (x > 0 ? 1 : x <= 0 ? 0 : x) },
  tanh: { value: Math.tanh, slope: (x) => 1 / Math.cosh(x) ** 2 },
};

/**
 * A function of each number, by the names that recorded steps have:
 *
 * - `"gelu"`: x·Φ(x), with the normal distribution Φ (Hendrycks & Gimpel 2016, arXiv:1606.08415);
 * - `"geluTanh"`: x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))), from the same paper, as in GPT-2; it differs from gelu by less
 *   than 0.0005;
 * - `"quickGelu"`: x·σ(1.702·x), with the logistic function σ, from the same paper;
 * - `"silu"`: x·σ(x) (Elfwing et al. 2017, arXiv:1702.03118);
 * - `"relu"`: max(x, 0), and `"tanh"`. At 0 the gradient of relu is 0.
 *
 * NaN stays NaN.
 *
 * @param times - Multiplied with the result: the other half of a gated layer (Shazeer 2020, arXiv:2002.05202). It has the
 *   shape of x.
 */
export function activation(x: Floats, name: StepActivation, times?: Floats): Floats {
  const { data, shape, f, factors } = checked("activation", x, name, times);
  const { value } = f;
  const y = new Float32Array(data.length);
  if (factors) for (let i = 0; i < y.length; i++) y[i] = value(data[i]!) * factors[i]!;
  else for (let i = 0; i < y.length; i++) y[i] = value(data[i]!);
  return { data: y, shape };
}

/**
 * The gradients of activation:
 *
 *     dInput = dOutput · times · f′(x)      dTimes = dOutput · f(x)
 *
 * @param dOutput - In the shape of x.
 */
export function activationBackward(x: Floats, name: StepActivation, dOutput: Floats): ActivationGradient;
/** @param times - What `activation` was given. Without it there is no dTimes. */
export function activationBackward(x: Floats, name: StepActivation, dOutput: Floats, times: Floats): GatedGradients;
export function activationBackward(
  x: Floats,
  name: StepActivation,
  dOutput: Floats,
  times: Floats | undefined,
): ActivationGradient | GatedGradients;
export function activationBackward(
  x: Floats,
  name: StepActivation,
  dOutput: Floats,
  times?: Floats,
): ActivationGradient | GatedGradients {
  const operation = "activationBackward";
  const { data, shape, f, factors } = checked(operation, x, name, times);
  const upstream = sameShape(operation, "dOutput", dOutput, shape);
  assertAllThere(operation, { x: data, times: factors });
  const { value, slope } = f;
  const dInput = new Float32Array(data.length);
  if (!factors) {
    for (let i = 0; i < dInput.length; i++) dInput[i] = upstream[i]! * slope(data[i]!);
    return { dInput: { data: dInput, shape } };
  }
  const dTimes = new Float32Array(data.length);
  for (let i = 0; i < dInput.length; i++) {
    dInput[i] = upstream[i]! * factors[i]! * slope(data[i]!);
    dTimes[i] = upstream[i]! * value(data[i]!);
  }
  return { dInput: { data: dInput, shape }, dTimes: { data: dTimes, shape } };
}

function checked(operation: string, x: unknown, name: unknown, times: unknown) {
  const { data, shape } = floats(operation, "x", x);
  if (typeof name !== "string" || !Object.hasOwn(FUNCTIONS, name))
    throw new OptionError(
      `${operation}: name must be one of ${Object.keys(FUNCTIONS).join(", ")}, got ${describe(name)}`,
    );
  const factors = times === undefined ? undefined : sameShape(operation, "times", times, shape);
  assertAllThere(operation, { x: data });
  return { data, shape, f: FUNCTIONS[name as StepActivation], factors };
}

function sameShape(operation: string, argument: string, value: unknown, shape: readonly number[]): Float32Array {
  const given = floats(operation, argument, value);
  assertShape(operation, argument, given, shape, "the shape of x,");
  return given.data;
}
