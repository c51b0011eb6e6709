import {
  type MapPart,
  type NormPart,
  type Rows,
  type SoftmaxPart,
  type TakePart,
  type TopPart,
} from "../../step/stepProblem.js";
import { BYTES, type PlacedFloats } from "../../tensor/tensor.js";
import type { Call, Span } from "../call/call.js";
import { insideTensor } from "../call/span.js";
import type { Kernel } from "../kernels/kernel.js";
import { floatBits, mapConstants } from "../layer/projection.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";

/** Invocations of a kernel that computes whole rows. */
const ROW_THREADS = 128;

/** y = norm(x) · gain + shift */
export function recordNorm(call: Call, { norm, rows, width, x, gain, shift, epsilon, y }: NormPart): void {
  const constants = { CENTRED: norm === "layer", SHIFT: shift !== undefined };
  dispatchRows(
    call,
    "norm_rows",
    constants,
    { rows, width, x, number: floatBits(epsilon) },
    {
      2: call.place(gain),
      ...(shift && { 3: call.place(shift) }),
      4: call.place(y),
    },
  );
}

/** y = softmax(scale · x) */
export function recordSoftmax(call: Call, { rows, width, x, scale, y }: SoftmaxPart): void {
  dispatchRows(call, "softmax_rows", {}, { rows, width, x, number: floatBits(scale) }, { 2: call.place(y) });
}

/** The k largest numbers of each row, and their columns. */
export function recordTop(call: Call, { rows, width, x, k, values, indices }: TopPart): void {
  const written = { 2: call.place(values), 3: call.place(indices) };
  dispatchRows(call, "top_rows", {}, { rows, width, x, number: k }, written, 2 * rows * width * k);
}

/** y = scale · f(x / divisor) · times + plus */
export function recordMap(call: Call, part: MapPart): void {
  const { rows, width, x, divisor, scale, times, plus, y } = part;
  const count = rows * width;
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const places = [x, times, plus].flatMap((given) => [given?.offset ?? 0, given?.stride ?? 0]);
  call.dispatch(flatKernel("map_rows", mapConstants(part)), workgroups, {
    0: call.numbers([count, width, ...places, floatBits(divisor), floatBits(scale)], workgroups),
    1: call.place(x.tensor),
    ...(times && { 2: call.place(times.tensor) }),
    ...(plus && { 3: call.place(plus.tensor) }),
    4: call.place(y),
  });
}

/** y[n] = scale · table[numbers[n]] */
export function recordTake(call: Call, { rows, width, numbers, table, scales, scale, y }: TakePart): void {
  const { dtype } = table;
  const constants = { INT8: dtype === "int8", BRAIN: dtype === "bfloat16", HALF: dtype === "float16" };
  const workgroups = divideUp(rows * width, FLAT_WORKGROUP);
  call.dispatch(flatKernel("take_rows", constants), workgroups, {
    0: call.numbers([rows * width, width, floatBits(scale)], workgroups),
    1: call.place(numbers),
    2: call.place(table),
    ...(scales && { 3: call.place(scales) }),
    4: call.place(y),
  });
}

/** Rows side by side in an array that a kernel can bind: they themselves, or a copy that the GPU makes. */
export function boundRows(call: Call, tensor: PlacedFloats): PlacedFloats {
  const { argument, buffer, offset, byteLength } = tensor.gpu!;
  if (offset % call.core.device.limits.minStorageBufferOffsetAlignment === 0) return tensor;
  const width = byteLength / BYTES.float32;
  const whole = insideTensor(argument, { buffer, offset: 0, bytes: buffer.size });
  const copy = insideTensor(argument, call.room(byteLength), tensor.shape);
  recordMap(call, {
    ...{ kind: "map", rows: 1, width, x: { tensor: whole, offset: offset / BYTES.float32, stride: width } },
    ...{ f: undefined, divisor: 1, scale: 1, times: undefined, plus: undefined, y: copy },
  });
  return copy;
}

interface WholeRows {
  readonly rows: number;
  readonly width: number;
  readonly x: Rows;
  readonly number: number;
}

/** A kernel of which a workgroup computes a row. */
export function rowKernel(name: RowKernelName, constants: Kernel["constants"] = {}): Kernel {
  return { name, constants: { THREADS: ROW_THREADS, ...constants } };
}

type RowKernelName = "norm_rows" | "softmax_rows" | "top_rows";

/** Lists such a kernel. */
function dispatchRows(
  call: Call,
  name: RowKernelName,
  constants: Readonly<Record<string, boolean>>,
  { rows, width, x, number }: WholeRows,
  written: Readonly<{ [binding: number]: Span }>,
  operations = 0,
): void {
  const numbers = call.numbers([rows, width, x.offset, x.stride, number], rows);
  call.dispatch(rowKernel(name, constants), rows, { 0: numbers, 1: call.place(x.tensor), ...written }, operations);
}
