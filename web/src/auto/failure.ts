import { DeviceLostError, HeadwiseError, OutOfMemoryError, UnsupportedError } from "../base/errors.js";

/**
 * Whether an error says that the GPU could not compute a call that wasm may compute: it was lost, is out of memory, or
 * refused the call by a limit or for a reason of its own. Errors about the call itself are errors on both engines.
 */
export function isGpuFailure(error: unknown): boolean {
  if (DeviceLostError.is(error) || OutOfMemoryError.is(error) || UnsupportedError.is(error)) return true;
  return HeadwiseError.is(error) && error.code === "INTERNAL";
}
