import { UnsupportedError } from "../errors/errors.js";
import type { OptionReader } from "./options.js";

/** Refuses `location: "gpu"`, for engines that have none and calls whose results come to the CPU. */
export function refuseGpu(options: OptionReader, why = "needs the WebGPU backend, this is wasm"): void {
  if (options.oneOf("location", ["cpu", "gpu"], "cpu") === "gpu")
    throw new UnsupportedError(`${options.operation}: location "gpu" ${why}`);
}
