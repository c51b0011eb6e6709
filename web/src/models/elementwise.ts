import type { Floats } from "../tensor/plainTensor.js";

/** a + b, element by element. b may lack leading axes of a; then it repeats. */
export function add(a: Floats, b: Floats): Floats {
  const y = new Float32Array(a.data.length);
  for (let i = 0, j = 0; i < y.length; i++, j++) {
    if (j === b.data.length) j = 0;
    y[i] = a.data[i]! + b.data[j]!;
  }
  return { data: y, shape: a.shape };
}

/** a · b, element by element. */
export function multiply(a: Floats, b: Floats): Floats {
  const y = new Float32Array(a.data.length);
  for (let i = 0; i < y.length; i++) y[i] = a.data[i]! * b.data[i]!;
  return { data: y, shape: a.shape };
}

/** The two halves of every row: `[…, E / 2]` each, from `[…, E]`. */
export function halvesOf({ data, shape }: Floats): readonly [first: Floats, second: Floats] {
  const width = shape.at(-1)! / 2;
  const half = (first: number): Floats => {
    const y = new Float32Array(data.length / 2);
    for (let at = 0; at < y.length; at += width) y.set(data.subarray(2 * at + first, 2 * at + first + width), at);
    return { data: y, shape: [...shape.slice(0, -1), width] };
  };
  return [half(0), half(width)];
}

/** One token of each text: `[…, E]` from `[…, S, E]`. */
export function tokenAt({ data, shape }: Floats, token: number): Floats {
  const [length, width] = shape.slice(-2) as [number, number];
  const texts = shape.slice(0, -2);
  const y = new Float32Array(data.length / length);
  for (let at = 0; at < y.length; at += width) {
    const start = at * length + token * width;
    y.set(data.subarray(start, start + width), at);
  }
  return { data: y, shape: [...texts, width] };
}

/** factor · x, element by element. */
export function scaled({ data, shape }: Floats, factor: number): Floats {
  return { data: data.map((value) => value * factor), shape };
}

/** cap · tanh(x / cap), element by element. */
export function softcapped({ data, shape }: Floats, cap: number): Floats {
  return { data: data.map((value) => cap * Math.tanh(value / cap)), shape };
}
