import { assertShape, floats, type Floats } from "../tensor/plainTensor.js";
import { exponential } from "./exponential.js";

/** 2·√(2/π), and the factor of the cube. */
const SLOPE = 2 * Math.sqrt(2 / Math.PI);
const CUBE = 0.044715;

/**
 * GELU in the tanh form, element by element (Hendrycks & Gimpel 2016, arXiv:1606.08415; the form of GPT-2):
 *
 *     gelu(x) = x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³)))
 *
 * It differs from x·Φ(x), with the normal distribution Φ, by less than 0.0005.
 */
export function gelu(x: Floats): Floats {
  const { data, shape } = floats("gelu", "x", x);
  const y = new Float32Array(data.length);
  for (let i = 0; i < y.length; i++) {
    const value = data[i]!;
    y[i] = value * gate(value);
  }
  return { data: y, shape };
}

/**
 * The gradient of gelu: dOutput · gelu′(x). With the logistic function σ and u(x) = 2·√(2/π)·(x + 0.044715·x³), gelu(x)
 * is x·σ(u), so
 *
 *     gelu′(x) = σ(u) + x·σ(u)·(1 − σ(u))·u′(x)
 */
export function geluBackward(x: Floats, dOutput: Floats): Floats {
  const { data, shape } = floats("geluBackward", "x", x);
  const upstream = gradientOf("geluBackward", dOutput, shape);
  const dInput = new Float32Array(data.length);
  for (let i = 0; i < dInput.length; i++) {
    const value = data[i]!;
    const open = gate(value);
    // far from 0 the gate does not move; there x³ may be infinite, and 0·∞ would be NaN
    const shut = open * (1 - open);
    const moves = shut === 0 ? 0 : value * shut * SLOPE * (1 + 3 * CUBE * value * value);
    dInput[i] = upstream[i]! * (open + moves);
  }
  return { data: dInput, shape };
}

/** σ(u(x)): what (1 + tanh(…))/2 is. */
function gate(x: number): number {
  return 1 / (1 + exponential(-SLOPE * (x + CUBE * x * x * x)));
}

/** max(x, 0), element by element. NaN stays NaN. */
export function relu(x: Floats): Floats {
  const { data, shape } = floats("relu", "x", x);
  const y = new Float32Array(data.length);
  for (let i = 0; i < y.length; i++) y[i] = Math.max(data[i]!, 0);
  return { data: y, shape };
}

/** The gradient of relu: dOutput where x > 0, and 0 elsewhere. At 0 it is 0. */
export function reluBackward(x: Floats, dOutput: Floats): Floats {
  const { data, shape } = floats("reluBackward", "x", x);
  const upstream = gradientOf("reluBackward", dOutput, shape);
  const dInput = new Float32Array(data.length);
  for (let i = 0; i < dInput.length; i++) if (data[i]! > 0) dInput[i] = upstream[i]!;
  return { data: dInput, shape };
}

function gradientOf(operation: string, dOutput: unknown, shape: readonly number[]): Float32Array {
  const given = floats(operation, "dOutput", dOutput);
  assertShape(operation, "dOutput", given, shape, "the shape of x,");
  return given.data;
}
