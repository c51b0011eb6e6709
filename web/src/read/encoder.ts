import { UnsupportedError } from "../base/errors.js";
import type { OptionReader } from "./options.js";

/** The option of calls that can be recorded. */
export interface Recording<E extends EncoderChoice> {
  /** A GPUCommandEncoder of the instance's device, in which the call is recorded. It is not submitted. Needs WebGPU. */
  readonly encoder?: E;
}

export type EncoderChoice = object | undefined;

/** What a call gives, if its option `encoder` is E. */
export type RecordedOr<E extends EncoderChoice, Recorded, Computed> = undefined extends E ? Computed : Recorded;

/** The name of that option. */
export const ENCODER = "encoder";

/** The encoder of a call, if it is recorded. The engine checks what it is. */
export function encoderOf(options: OptionReader): object | undefined {
  if (!options.has(ENCODER)) return undefined;
  if (options.has("location") && options.value("location") !== "gpu")
    throw options.refuse("location", 'be "gpu" or absent in a call with encoder');
  return options.value(ENCODER) as object;
}

/** The error of a call with an encoder on an engine that records no commands. */
export function recordsNothing(operation: string, why: string): UnsupportedError {
  return new UnsupportedError(`${operation}: encoder needs WebGPU: ${why}, which records no GPU commands`, {
    hint: 'An instance with backend "webgpu" records its calls, those of its layers and of its caches.',
  });
}
