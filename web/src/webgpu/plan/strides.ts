import type { Layout } from "../../tensor/layout.js";

/** Elements from one index to the next, for each axis of [B, H, S, D]. */
export interface Strides {
  readonly batch: number;
  readonly head: number;
  readonly position: number;
  readonly feature: number;
}

export function stridesOf(layout: Layout, heads: number, length: number, width: number): Strides {
  const batch = heads * length * width;
  switch (layout) {
    case "BHSD":
      return { batch, head: length * width, position: width, feature: 1 };
    case "BSHD":
    case "BSE":
      return { batch, head: width, position: heads * width, feature: 1 };
    case "BES":
      return { batch, head: width * length, position: 1, feature: length };
  }
}

/** Of four axes. */
type Extents = readonly [number, number, number, number];

/** Strides of an array that is broadcast along axes of extent 1. */
export function broadcastStrides([b, h, i, j]: Extents): Extents {
  const stride = (extent: number, step: number) => (extent === 1 ? 0 : step);
  return [stride(b, h * i * j), stride(h, i * j), stride(i, j), stride(j, 1)];
}
