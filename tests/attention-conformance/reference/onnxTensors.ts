import { setFloat16 } from "@petamoriken/float16";

import { float16ToNumber } from "./reference.js";

export interface PublishedTensor {
  readonly name: string;
  readonly dtype: "float32" | "float16" | "bool" | "int64" | "int32";
  readonly shape: readonly number[];
  readonly data: readonly (number | "NaN" | "Infinity" | "-Infinity")[];
}

export interface OnnxCase {
  readonly op: "Attention" | "RotaryEmbedding" | "Softmax";
  readonly name: string;
  readonly opset: number;
  readonly attributes: Readonly<Record<string, number>>;
  readonly inputs: readonly PublishedTensor[];
  readonly outputs: readonly PublishedTensor[];
}

export interface CaseTensor {
  readonly data: Float32Array | Uint16Array | Uint8Array | BigInt64Array | Int32Array;
  readonly shape: readonly number[];
  readonly dtype: PublishedTensor["dtype"];
}

/** A case's inputs by name, float16 as bits, int64 as such. */
export function inputsOf({ inputs }: OnnxCase): Record<string, CaseTensor> {
  return Object.fromEntries(inputs.map((input) => [input.name, toTensor(input)]));
}

function toTensor({ dtype, shape, data }: PublishedTensor): CaseTensor {
  const values = data.map(Number);
  switch (dtype) {
    case "float32":
      return { data: Float32Array.from(values), shape, dtype };
    case "float16": {
      const view = new DataView(new ArrayBuffer(2 * values.length));
      values.forEach((x, k) => setFloat16(view, 2 * k, x, true));
      return { data: new Uint16Array(view.buffer), shape, dtype };
    }
    case "bool":
      return { data: Uint8Array.from(values), shape, dtype };
    case "int32":
      return { data: Int32Array.from(values), shape, dtype };
    case "int64":
      return { data: BigInt64Array.from(values, BigInt), shape, dtype };
  }
}

export interface Result {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
  readonly dtype?: string;
}

/** What differs between a result and a published output: one line for each of the first differences. */
export function differences(result: Result | undefined, { name, dtype, shape, data }: PublishedTensor): string[] {
  if (!result) return [`${name} is missing`];
  if (String(result.shape) !== String(shape))
    return [`${name} has shape [${String(result.shape)}], not [${String(shape)}]`];
  if (result.dtype !== dtype) return [`${name} is ${result.dtype}, not ${dtype}`];
  const number = (k: number) => (dtype === "float16" ? float16ToNumber(result.data[k]!) : result.data[k]!);
  return data
    .map(Number)
    .flatMap((expected, k) => {
      const actual = number(k);
      const isClose = Number.isFinite(expected)
        ? Math.abs(actual - expected) <= toleranceOf(dtype, expected)
        : Object.is(actual, expected);
      return isClose ? [] : [`${name}[${k}] is ${actual}, not ${expected}`];
    })
    .slice(0, 5);
}

/** How far a result may be from a finite published number. */
export function toleranceOf(dtype: PublishedTensor["dtype"], expected: number): number {
  const [absolute, relative] = dtype === "float16" ? [5e-4, 2e-3] : [1e-6, 1e-5];
  return absolute + relative * Math.abs(expected);
}
