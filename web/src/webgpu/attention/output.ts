import type { PlacedOutput } from "../../attention/attentionResult.js";
import { describe } from "../../base/describe.js";
import { OptionError } from "../../base/errors.js";
import { assertIntact } from "../../base/intact.js";
import type { OutputForm } from "../../read/outputForm.js";
import { asHalves, copyBits } from "../../tensor/tensor.js";
import { asArray, type Call, type Deliver, type Span } from "../call/call.js";
import type { Step } from "../plan/flatKernels.js";
import { keepOnGpu } from "./result.js";

type Location = "cpu" | "gpu";

/**
 * Room for a float32 output. It is the result itself if the result stays on the GPU unchanged, or lies in the engine's own
 * memory.
 */
export function outputRoom(
  call: Call,
  { into }: OutputForm,
  length: number,
  narrow: Step | undefined,
  location: Location,
): Span {
  const own = into?.place.gpu;
  if (own?.isOurs) return call.place(into!.place);
  return call.resultRoom(4 * length, into || narrow ? "cpu" : location);
}

/**
 * Brings a float32 output on the GPU into the wanted form. The returned function reads it, or hands it over if it stays
 * on the GPU.
 */
export function writeOutput(
  call: Call,
  form: OutputForm,
  wide: Span,
  length: number,
  narrow: Step | undefined,
  location: Location = "cpu",
): Deliver<PlacedOutput> {
  const { shape, dtype, half, into } = form;
  const place = into?.place;
  if (place?.gpu?.isOurs) return () => into!.tensor;
  if (place && !place.gpu && location === "gpu")
    throw new OptionError(
      `${call.operation}: into must be a GPU tensor { buffer, shape, dtype } where results stay on the GPU, ` +
        `got ${describe(place.data)}`,
      { hint: "Or leave `into` out and read the result with `await output.data()`." },
    );
  const source = narrow ? narrowed(call, wide, length, narrow, into ? "cpu" : location) : wide;
  const bytes = length * (dtype === "float16" ? 2 : 4);
  if (place?.gpu) {
    call.copyInto({ ...source, bytes }, place.gpu);
    return () => into!.tensor;
  }
  if (location === "gpu") {
    const kept = keepOnGpu(call, source, shape, dtype);
    return () => kept;
  }
  const words = { ...source, bytes: Math.ceil(bytes / 4) * 4 };
  if (place) {
    const view = call.view(words, bytes);
    return (mapped) => {
      assertIntact(call.operation, "into", place.data);
      copyBits(view(mapped), place.data);
      return into.tensor;
    };
  }
  const read = call.read(words, bytes);
  return (mapped) => {
    const data = asArray(dtype, read(mapped));
    return { data: half ? asHalves(data as Uint16Array) : data, shape: [...shape], dtype };
  };
}

function narrowed(call: Call, wide: Span, length: number, { kernel, workgroups }: Step, location: Location): Span {
  const target = call.resultRoom(Math.ceil(length / 2) * 4, location);
  const shape = call.numbers([length], workgroups);
  call.dispatch(kernel, workgroups, { 0: shape, 1: wide, 2: target });
  return target;
}
