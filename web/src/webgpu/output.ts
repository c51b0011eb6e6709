import type { OutputForm } from "../attentionProblem.js";
import type { FloatResult } from "../backend.js";
import { gpuDataOf } from "../gpuData.js";
import { asHalves, copyBits } from "../tensor.js";
import { asArray, type Call, type Span } from "./call.js";
import type { Step } from "./plan.js";
import { keepOnGpu } from "./result.js";

/**
 * Brings a float32 output on the GPU to the form that the caller wants; returns what reads it, or hands it over if it
 * stays on the GPU.
 */
export function writeOutput(
  call: Call,
  form: OutputForm,
  wide: Span,
  length: number,
  narrow: Step | undefined,
  location: "cpu" | "gpu" = "cpu",
): (result: ArrayBuffer) => FloatResult {
  const { shape, dtype, half, into } = form;
  const source = narrow ? narrowed(call, wide, length, narrow) : wide;
  const bytes = length * (dtype === "float16" ? 2 : 4);
  const place = into && gpuDataOf(into);
  if (place) {
    call.copyInto({ ...source, bytes }, place);
    return () => into.tensor as FloatResult;
  }
  if (location === "gpu") {
    const kept = keepOnGpu(call, source, shape, dtype);
    return () => kept as unknown as FloatResult;
  }
  const read = call.read({ ...source, bytes: Math.ceil(bytes / 4) * 4 });
  return (result) => {
    const data = asArray(dtype, read(result).slice(0, bytes));
    if (into) {
      copyBits(data, into.data);
      return into.tensor as FloatResult;
    }
    return { data: half ? asHalves(data as Uint16Array) : data, shape: [...shape], dtype } as FloatResult;
  };
}

function narrowed(call: Call, wide: Span, length: number, { kernel, workgroups }: Step): Span {
  const target = call.room(Math.ceil(length / 2) * 4);
  const shape = call.numbers([length], workgroups);
  call.dispatch(kernel, workgroups, { 0: shape, 1: wide, 2: target });
  return target;
}
