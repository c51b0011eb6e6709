import { OptionError } from "../base/errors.js";

/** The error of a step with a layer or a cache that may leave wasm. */
export const mayMove = (operation: string, what: "layer" | "cache"): OptionError =>
  new OptionError(`${operation}: a ${what} of a step must stay on wasm, this one may move to WebGPU`, {
    hint: `Make it with placement: "wasm", or the instance with backend: "wasm".`,
  });
