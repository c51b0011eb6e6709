import type { Tensor } from "headwise";

/** The tensors of the lab. */
export type Floats = Tensor<"float32">;
