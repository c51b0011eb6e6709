import { isCallable } from "../base/callable.js";
import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { isAnyArray } from "../base/typedArray.js";
import { withDefaults } from "../read/withDefaults.js";
import { assertAllThere, assertNumber, type Floats } from "../tensor/plainTensor.js";
import { assertApart, assertSame, flatNamed, mapTree, sameMemory, type Flat, type Tree } from "./parameterTree.js";

/** Options of adamW. */
export interface AdamWOptions {
  /** η. Default: 0.001. `step` may give another one. */
  readonly learningRate?: number | undefined;
  /** β₁ and β₂, from 0 to below 1. Default: [0.9, 0.999]. */
  readonly betas?: readonly [number, number] | undefined;
  /** ε, added to the root of the mean square. Default: 1e-8. */
  readonly epsilon?: number | undefined;
  /** λ. Default: 0.01. */
  readonly weightDecay?: number | undefined;
  /** Which parameters decay. Default: those with two or more axes, so not biases and gains. */
  readonly decay?: ((name: string, tensor: Floats) => boolean) | undefined;
  /** The `state` of an earlier optimizer of the same parameters, to go on from. It is copied. */
  readonly state?: Tree | undefined;
}

const NO_STATE: Tree = {};

/** All options, each with a value. */
type Stated = { readonly [Name in keyof AdamWOptions]-?: NonNullable<AdamWOptions[Name]> };

const DEFAULTS: Stated = {
  learningRate: 1e-3,
  betas: [0.9, 0.999],
  epsilon: 1e-8,
  weightDecay: 0.01,
  decay: (_, { shape }) => shape.length >= 2,
  state: NO_STATE,
};

/** The optimizer that `adamW` makes. */
export interface AdamW {
  /**
   * Changes the parameters in place.
   *
   * @param gradients - A tree with the names and shapes of the parameters. It may be nested in another way.
   */
  readonly step: (gradients: Tree, options?: { readonly learningRate?: number | undefined }) => void;
  /** The running means and the number of steps: a tree, which `saveSafetensors` can save. `step` changes it. */
  readonly state: { readonly steps: Floats; readonly mean: Tree; readonly meanSquare: Tree };
}

/**
 * AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101): Adam (Kingma & Ba 2015, arXiv:1412.6980) with a weight decay that
 * does not go through the running means. In step t, for each parameter θ and its gradient g:
 *
 *     m ← β₁·m + (1 − β₁)·g        m̂ = m / (1 − β₁ᵗ)
 *     v ← β₂·v + (1 − β₂)·g²       v̂ = v / (1 − β₂ᵗ)
 *     θ ← θ − η·( m̂ / (√v̂ + ε) + λ·θ )
 *
 * Where √v̂ + ε is 0, m̂ counts as 0.
 *
 * @param parameters - A tree of tensors. `step` changes their numbers in place. An array that stands there under several
 *   names (tied weights) is one parameter: its gradient is the sum of the different arrays under these names.
 */
export function adamW(parameters: Tree, options: AdamWOptions = {}): AdamW {
  const begun = flatNamed("adamW", "parameters", parameters);
  assertApart("adamW", "parameters", begun);
  const given = withDefaults<Stated>("adamW", options, DEFAULTS);
  const { learningRate, beta1, beta2, epsilon, weightDecay } = checkedOptions(given);
  const { decay: decays } = given;
  if (!isCallable(decays)) throw new OptionError(`adamW: decay must be a function, got ${describe(decays)}`);
  const state = startOf(parameters, given.state === NO_STATE ? undefined : given.state);
  const mean = flatNamed("adamW", "state.mean", state.mean);
  const meanSquare = flatNamed("adamW", "state.meanSquare", state.meanSquare);

  const step = (gradients: Tree, stepOptions: { readonly learningRate?: number | undefined } = {}) => {
    const { learningRate: rate } = withDefaults("adamW.step", stepOptions, { learningRate });
    const named = flatNamed("adamW.step", "parameters", parameters); // their memory may have moved
    assertSame("adamW.step", "parameters", named, begun);
    assertApart("adamW.step", "parameters", named);
    const given = flatNamed("adamW.step", "gradients", gradients);
    assertSame("adamW.step", "gradients", given, named);
    assertBelow("adamW.step", "learningRate", rate, Infinity);
    const groups = sameMemory(named).map((names) => {
      const tensor = named[names[0]!]!;
      return { names, theta: tensor.data, isDecaying: isDecaying(decays(names[0]!, tensor), names[0]!) };
    });
    // Getters of gradients, and `decay`, are code of the caller, who has the state too.
    const running = { "state.steps": state.steps.data, ...dataOf("state.mean", mean), ...dataOf("state.meanSquare", meanSquare) }; // oxfmt-ignore
    assertAllThere("adamW.step", { ...dataOf("parameters", named), ...dataOf("gradients", given), ...running });
    const t = ++state.steps.data[0]!;
    const pace = rate / (1 - beta1 ** t);
    const correction = 1 / (1 - beta2 ** t);
    for (const { names, theta, isDecaying } of groups) {
      const [g, m, v] = [sumOf(names, given), mean[names[0]!]!.data, meanSquare[names[0]!]!.data];
      const shrink = 1 - (isDecaying ? rate * weightDecay : 0);
      for (let i = 0; i < theta.length; i++) {
        const slope = g[i]!;
        const first = beta1 * m[i]! + (1 - beta1) * slope;
        const second = beta2 * v[i]! + (1 - beta2) * slope * slope;
        m[i] = first;
        v[i] = second;
        const spread = Math.sqrt(second * correction) + epsilon;
        theta[i] = theta[i]! * shrink - (spread === 0 ? 0 : (pace * first) / spread);
      }
      for (const tied of names.slice(1)) {
        mean[tied]!.data.set(m);
        meanSquare[tied]!.data.set(v);
      }
    }
  };
  return { step, state };
}

/** The arrays of tensors, by their places in an argument. */
const dataOf = (argument: string, flat: Flat) =>
  Object.fromEntries(Object.entries(flat).map(([name, { data }]) => [`${argument}.${name}.data`, data]));

/** What `decay` says of a parameter. A promise would count as true. */
function isDecaying(said: unknown, name: string): boolean {
  if (typeof said !== "boolean")
    throw new OptionError(`adamW.step: decay must give true or false, got ${describe(said)} for ${describe(name)}`);
  return said;
}

/** The gradient of a parameter with these names. */
function sumOf(names: readonly string[], gradients: Flat): Float32Array {
  const tied = Object.fromEntries(names.map((name) => [name, gradients[name]!]));
  const [first, ...others] = sameMemory(tied).map(([name]) => gradients[name!]!.data);
  if (others.length === 0) return first!;
  const sum = first!.slice();
  for (const data of others) for (let i = 0; i < sum.length; i++) sum[i]! += data[i]!;
  return sum;
}

function checkedOptions({ learningRate, betas, epsilon, weightDecay }: Stated) {
  const pair = guarded("adamW", "betas", () => pairIn(betas));
  if (!pair) throw new OptionError(`adamW: betas must be two numbers, got ${describe(betas)}`);
  const [beta1, beta2] = pair;
  for (const [name, value] of Object.entries({ learningRate, epsilon, weightDecay }))
    assertBelow("adamW", name, value, Infinity);
  for (const [n, value] of [beta1, beta2].entries()) assertBelow("adamW", `betas[${n}]`, value, 1);
  return { learningRate, epsilon, weightDecay, beta1, beta2 };
}

/** The elements of an array of two, each read once; undefined for anything else. */
function pairIn(value: unknown): readonly [number, number] | undefined {
  if (!isAnyArray(value)) return undefined;
  const list = value as ArrayLike<number>;
  return list.length === 2 ? [list[0]!, list[1]!] : undefined;
}

function assertBelow(operation: string, argument: string, value: unknown, limit: number): void {
  assertNumber(operation, argument, value, `a number from 0 to below ${limit}`, (x) => x >= 0 && x < limit);
}

/** A state before the first step, or a copy of the one that is given. */
function startOf(parameters: Tree, given: Tree | undefined): AdamW["state"] {
  const zeros = () => mapTree(parameters, ({ data, shape }) => ({ data: new Float32Array(data.length), shape }));
  const state = { steps: { data: new Float32Array(1), shape: [] }, mean: zeros(), meanSquare: zeros() };
  if (given === undefined) return state;
  const saved = flatNamed("adamW", "state", given);
  const own = flatNamed("adamW", "state", state);
  assertSame("adamW", "state", saved, own);
  const isCount = (value: number) => Number.isInteger(value) && value >= 0;
  assertNumber("adamW", "state.steps.data[0]", saved["steps"]!.data[0], "an integer of 0 or more", isCount);
  for (const [name, { data }] of Object.entries(saved)) {
    const negative = name.startsWith("meanSquare") ? data.find((square) => square < 0) : undefined;
    if (negative !== undefined)
      throw new OptionError(`adamW: state.${name}.data must have no number below 0, got ${negative}`);
  }
  for (const [name, { data }] of Object.entries(own)) data.set(saved[name]!.data);
  return state;
}
