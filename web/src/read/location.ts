import { UnsupportedError } from "../base/errors.js";
import type { OptionReader } from "./options.js";

/** Where results are. undefined is the default, `"cpu"`. */
export type LocationChoice = "cpu" | "gpu" | undefined;

/** An option of calls whose results may stay on the GPU. */
export interface LocationOption<L extends LocationChoice = LocationChoice> {
  /** Where the results are. `"gpu"` needs the WebGPU backend. Default `"cpu"`. */
  readonly location?: L;
}

/** Refuses `location: "gpu"`. Called if the engine has no GPU, or if the call's results always come to the CPU. */
export function refuseGpu(options: OptionReader, why = "needs the WebGPU backend, this is wasm"): void {
  if (options.oneOf("location", ["cpu", "gpu"], "cpu") === "gpu")
    throw new UnsupportedError(`${options.operation}: location "gpu" ${why}`);
}
