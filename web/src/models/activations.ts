import type { StepActivation } from "../step/stepProblem.js";

/** The activations by the names that config.json has for them. */
export const ACTIVATIONS = {
  gelu: "gelu",
  gelu_new: "geluTanh",
  gelu_pytorch_tanh: "geluTanh",
  gelu_fast: "geluTanh",
  quick_gelu: "quickGelu",
  relu: "relu",
  silu: "silu",
  swish: "silu",
} as const satisfies Readonly<Record<string, StepActivation>>;

export type ActivationName = keyof typeof ACTIVATIONS;

export const ACTIVATION_NAMES = Object.keys(ACTIVATIONS) as readonly ActivationName[];
