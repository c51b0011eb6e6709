import { UnsupportedError } from "../errors/errors.js";
import type { OptionReader } from "./options.js";

/** Refuses `location: "gpu"`. Called if the engine has no GPU, or if the call's results always come to the CPU. */
export function refuseGpu(options: OptionReader, why = "needs the WebGPU backend, this is wasm"): void {
  if (options.oneOf("location", ["cpu", "gpu"], "cpu") === "gpu")
    throw new UnsupportedError(`${options.operation}: location "gpu" ${why}`);
}
