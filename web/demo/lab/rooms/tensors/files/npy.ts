import { elementCount, FileError, readNumbers, type FileTensor, type NumberType } from "./numbers.js";
import { t } from "../../../../texts/t.js";

const MAGIC = "\x93NUMPY";
const TYPES: Readonly<Record<string, NumberType>> = {
  f2: "f16",
  f4: "f32",
  f8: "f64",
  i1: "i8",
  u1: "u8",
  i2: "i16",
  i4: "i32",
  i8: "i64",
  b1: "bool",
};

/** Reads a NumPy `.npy` file, version 1 to 3. */
export function readNpy(bytes: Uint8Array, name: string): FileTensor {
  const isNpy = [...MAGIC].every((letter, i) => bytes[i] === letter.charCodeAt(0));
  if (!isNpy) throw new FileError(t`is no .npy file: it does not begin with “${"\\x93NUMPY"}”`);
  if (bytes.byteLength < 12) throw new FileError(t`is cut short: its header is missing`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [start, length] = bytes[6] === 1 ? [10, view.getUint16(8, true)] : [12, view.getUint32(8, true)];
  if (start + length > bytes.byteLength)
    throw new FileError(
      t`is cut short: its header should have ${length} bytes, and ${bytes.byteLength - start} are there`,
    );
  const header = new TextDecoder().decode(bytes.subarray(start, start + length));
  const [, order, stored] = /'descr':\s*'([<>|=]?)(\w+)'/.exec(header) ?? [];
  const [, extents] = /'shape':\s*\(([\d,\s]*)\)/.exec(header) ?? [];
  const type = stored !== undefined && Object.hasOwn(TYPES, stored) ? TYPES[stored] : undefined;
  if (type === undefined)
    throw new FileError(
      stored === undefined
        ? t`holds something that this page does not read; it reads ${Object.keys(TYPES).join(", ")}`
        : t`holds ${stored} that this page does not read; it reads ${Object.keys(TYPES).join(", ")}`,
    );
  if (extents === undefined) throw new FileError(t`has no shape in its header`);
  if (order === ">") throw new FileError(t`holds big-endian numbers; this page reads little-endian ones`);
  const shape = extents
    .split(",")
    .filter((extent) => extent.trim() !== "")
    .map(Number);
  const data = readNumbers(bytes.subarray(start + length), type, elementCount(shape));
  const isColumnMajor = /'fortran_order':\s*True/.test(header);
  return { name, shape, data: isColumnMajor ? rowMajor(data, shape) : data, stored: stored! };
}

/** Writes a `.npy` file of float32. */
export function writeNpy(shape: readonly number[], data: Float32Array): Uint8Array<ArrayBuffer> {
  const extents = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${extents}), }`;
  const header = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + "\n"; // the data must start at a multiple of 64
  const bytes = new Uint8Array(10 + header.length + data.byteLength);
  const view = new DataView(bytes.buffer);
  [...MAGIC].forEach((letter, i) => (bytes[i] = letter.charCodeAt(0)));
  bytes[6] = 1;
  view.setUint16(8, header.length, true);
  [...header].forEach((letter, i) => (bytes[10 + i] = letter.charCodeAt(0)));
  data.forEach((value, i) => view.setFloat32(10 + header.length + 4 * i, value, true));
  return bytes;
}

function rowMajor(data: Float32Array, shape: readonly number[]): Float32Array<ArrayBuffer> {
  const strides = shape.map((_, axis) => elementCount(shape.slice(0, axis)));
  return Float32Array.from(data, (_, at) => {
    let rest = at;
    let from = 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += (rest % shape[axis]!) * strides[axis]!;
      rest = Math.floor(rest / shape[axis]!);
    }
    return data[from]!;
  });
}
