import type { Attention } from "../instance/attention.js";
import type { LinearLayout } from "../linear/weight.js";
import type { StepActivation } from "../step/stepProblem.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { Eventually } from "../turn/context.js";
import type { AttentionCall, AttentionPart } from "./attentionPart.js";
import type { Placed } from "./matrix.js";

/** A weight where `linear` of its instance reads it. */
export interface Weight {
  readonly hw: Attention;
  readonly tensor: Placed["tensor"];
  readonly layout: LinearLayout;
  /** What stands for no bias: panels take the number of outputs from it. */
  readonly noBias: Floats | undefined;
}

/**
 * What a network is computed with. T is a tensor: numbers, which are computed at once (`pass.ts`), or what a step computes
 * when it runs (`recordedPass.ts`).
 */
export interface Arithmetic<T> {
  /** a + b, element by element. b may lack leading axes of a; then it repeats. */
  add(a: T, b: T): T;
  /** a · b, element by element. */
  multiply(a: T, b: T): T;
  /** factor · x */
  scaled(x: T, factor: number): T;
  /** cap · tanh(x / cap) */
  softcapped(x: T, cap: number): T;
  activation(x: T, name: StepActivation): T;
  layerNorm(x: T, gain: Floats, bias: Floats | undefined, epsilon: number): T;
  rmsNorm(x: T, gain: Floats, epsilon: number): T;
  /** The two halves of every row. */
  halves(x: T): readonly [first: T, second: T];
  linear(x: T, weight: Weight, bias: Floats | undefined): Eventually<T>;
  /** @param shared - Options that all layers have in this call. */
  attend(part: AttentionPart, x: T, shared: AttentionCall): Eventually<T>;
  /** Keeps a hidden state, if hidden states are kept. */
  note(x: T): T;
}
