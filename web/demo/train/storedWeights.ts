import { flatten, unflatten, type Flat, type Floats, type Tree } from "headwise/train";

/** The largest size of an int8, used in both directions. */
const LARGEST = 127;

interface Entry {
  readonly dtype: "I8" | "F32";
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

type Stored = readonly [name: string, dtype: Entry["dtype"], shape: readonly number[], bytes: Uint8Array];

/**
 * Weights as a `.safetensors` file of a quarter of the size. A matrix is stored as int8 (I8) with a factor for each row
 * (F32, `<name>.scale`), so that the largest number of a row becomes 127. Everything else stays float32.
 */
export function storeWeights(parameters: Tree): Uint8Array<ArrayBuffer> {
  const tensors = Object.entries(flatten(parameters)).flatMap(([name, tensor]): Stored[] => {
    const { data, shape } = tensor;
    if (shape.length !== 2) return [[name, "F32", shape, bytesOf(data)]];
    const { numbers, scales } = rounded(tensor);
    return [
      [`${name}.scale`, "F32", [scales.length], bytesOf(scales)],
      [name, "I8", shape, bytesOf(numbers)],
    ];
  });
  return file(tensors);
}

/** The weights of a stored file, as float32. */
export function readStored(bytes: Uint8Array): { [name: string]: Tree } {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as Record<string, Entry>;
  const bufferOf = ({ data_offsets: [from, to] }: Entry) =>
    new Uint8Array(bytes.subarray(8 + length + from, 8 + length + to)).buffer;
  const flat: Flat = {};
  for (const [name, entry] of Object.entries(header)) {
    const { dtype, shape } = entry;
    if (dtype === "F32" && !name.endsWith(".scale")) flat[name] = { data: new Float32Array(bufferOf(entry)), shape };
    if (dtype === "I8") {
      const scales = new Float32Array(bufferOf(header[`${name}.scale`]!));
      const width = shape[1]!;
      const data = Float32Array.from(
        new Int8Array(bufferOf(entry)),
        (number, n) => number * scales[Math.floor(n / width)]!,
      );
      flat[name] = { data, shape };
    }
  }
  return unflatten(flat);
}

function rounded({ data, shape }: Floats): { numbers: Int8Array; scales: Float32Array } {
  const [rows, width] = shape as [number, number];
  const numbers = new Int8Array(data.length);
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const values = data.subarray(row * width, (row + 1) * width);
    const scale = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) / LARGEST || 1;
    scales[row] = scale;
    values.forEach((value, n) => (numbers[row * width + n] = Math.round(value / scale)));
  }
  return { numbers, scales };
}

function file(tensors: readonly Stored[]): Uint8Array<ArrayBuffer> {
  let offset = 0;
  const entries = tensors.map(([name, dtype, shape, { length }]): [string, Entry] => {
    const from = offset;
    offset += length;
    return [name, { dtype, shape, data_offsets: [from, offset] }];
  });
  const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const start = Math.ceil((8 + header.length) / 8) * 8;
  const whole = new Uint8Array(start + offset);
  new DataView(whole.buffer).setBigUint64(0, BigInt(start - 8), true);
  whole.fill(0x20, 8, start).set(header, 8);
  tensors.forEach(([, , , bytes], n) => whole.set(bytes, start + entries[n]![1].data_offsets[0]));
  return whole;
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Int8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
