// The same Llama as a .safetensors file of float16, which holds its numbers exactly.

import { halfBits } from "./half.mjs";
import { numbersOf, sizeOf, tensorsOf } from "./tensors.mjs";

export function safetensorsModel(shape) {
  let end = 0;
  const tensors = tensorsOf(shape).map((tensor) => ({
    ...tensor,
    offset: end,
    end: (end += 2 * sizeOf(tensor.shape)),
  }));
  const header = Object.fromEntries(
    tensors.map(({ name, shape, offset, end }) => [name, { dtype: "F16", shape, data_offsets: [offset, end] }]),
  );
  const json = new TextEncoder().encode(JSON.stringify(header));
  const start = Math.ceil((8 + json.length) / 8) * 8;
  const file = new Uint8Array(start + end).fill(0x20, 8, start);
  new DataView(file.buffer).setBigUint64(0, BigInt(start - 8), true);
  file.set(json, 8);
  for (const tensor of tensors) {
    const numbers = numbersOf(tensor);
    new Uint16Array(file.buffer, start + tensor.offset, numbers.length).set(numbers.map(halfBits));
  }
  return file;
}
