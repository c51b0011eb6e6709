import { alibiSlopes } from "headwise";

import type { ExactOptions } from "../../engine/exact.js";
import { randomNormal } from "../../shell/random.js";
import { inForce, NO_SINK, UNBOUNDED, type Settings } from "./settings.js";

export const HEAD_DIM = 16;

/** The number of key heads: the largest divisor of the heads that is at most the number asked for. */
export function kvHeadsOf({ heads, kvHeads }: Settings): number {
  let groups = Math.min(kvHeads, heads);
  while (heads % groups !== 0) groups--;
  return groups;
}

/** The settings as options of the package, without formulas. Options that are off are left out. */
export function optionsOf(settings: Settings): ExactOptions {
  const {
    causal,
    left,
    right,
    keyLength,
    keys,
    queries,
    excludeSelf,
    alibi,
    softcap,
    sink,
    heads,
    emptyRows,
    sharpness,
  } = inForce(settings);
  const window = { ...(left < UNBOUNDED && { left }), ...(right < UNBOUNDED && { right }) };
  return {
    ...(sharpness !== 1 && { scale: Number((sharpness / Math.sqrt(HEAD_DIM)).toPrecision(4)) }),
    ...(causal !== "off" && { causal: causal }),
    ...(Object.keys(window).length > 0 && { window }),
    ...(keyLength < keys && { keyLengths: [keyLength] }),
    // Without an offset headwise refuses a length that moves the diagonal. Here that is what the room shows.
    ...(causal === "lower-right" && keyLength < keys && keyLength < queries && { queryOffset: keyLength - queries }),
    ...(excludeSelf && { excludeSelf }),
    ...(alibi && { alibiSlopes: Array.from(alibiSlopes(heads)) }),
    ...(softcap > 0 && { softcap }),
    ...(sink > NO_SINK && { sinks: Array<number>(heads).fill(sink) }),
    ...(emptyRows !== "zero" && { emptyRows: emptyRows }),
  };
}

/** Random queries, keys and values. They are the same every time. */
export function tensorsOf(settings: Settings) {
  const { queries, keys, heads } = settings;
  const tensor = (seed: number, numHeads: number, length: number) => ({
    data: randomNormal(seed, numHeads * length * HEAD_DIM),
    shape: [1, numHeads, length, HEAD_DIM],
  });
  const groups = kvHeadsOf(settings);
  return { query: tensor(1, heads, queries), key: tensor(2, groups, keys), value: tensor(3, groups, keys) };
}
