/** One affine map: y = x·weight + bias, weight [inputs, outputs]. */
export interface Dense {
  readonly weight: Float32Array;
  readonly bias: Float32Array;
}

/** y [rows, outputs] from x [rows, inputs], both row-major. */
export function dense(x: Float32Array, { weight, bias }: Dense): Float32Array {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const rows = x.length / inputs;
  const y = new Float32Array(rows * outputs);
  for (let r = 0; r < rows; r++) {
    const y_r = y.subarray(r * outputs, (r + 1) * outputs);
    y_r.set(bias);
    for (let i = 0; i < inputs; i++) {
      const x_ri = x[r * inputs + i]!;
      if (x_ri === 0) continue; // most of what ReLU lets through is 0
      const weight_i = i * outputs;
      for (let o = 0; o < outputs; o++) y_r[o]! += x_ri * weight[weight_i + o]!;
    }
  }
  return y;
}

export function relu(x: Float32Array): Float32Array {
  return x.map((value) => Math.max(value, 0));
}

export function add(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((value, i) => value + b[i]!);
}
