// Recorded layers that do not see some of their tokens.

import type { Attention, Layer, Tensor } from "headwise";
import { formula } from "headwise/formula";
import type { RecordedLayerOptions } from "../../web/src/step/recordedOptions.js";

import { randomTensor } from "./randomTensor.js";

const WIDTH = 8;
const WINDOW = 6;

function layerOf(hw: Attention, options: { readonly position?: { readonly kind: "rotary" } } = {}): Promise<Layer> {
  const weight = (seed: number, width = WIDTH) => randomTensor(seed, [WIDTH, width]);
  const weights = { Wq: weight(1), Wk: weight(2, WIDTH / 2), Wv: weight(3, WIDTH / 2), Wo: weight(4) };
  return hw.multiHeadAttention({ numHeads: 2, numKvHeads: 1, weights, ...options });
}

const TOKENS = 7;
const keys = (hidden: number, seen: number) =>
  Array.from({ length: TOKENS ** 2 }, (_, n) => (n % TOKENS === TOKENS - 1 ? hidden : seen));

/** Options that hide the last token from the others. */
export const HIDING_OPTIONS: readonly (readonly [string, RecordedLayerOptions])[] = [
  ["causality", { causal: true }],
  ["a window", { window: { right: 0 } }],
  ["a mask", { mask: { data: Uint8Array.from(keys(0, 1)), shape: [TOKENS, TOKENS] } }],
  ["a bias", { bias: { data: Float32Array.from(keys(-Infinity, 0.5)), shape: [TOKENS, TOKENS] } }],
  ["a formula", { visible: formula("j < 6") }],
];

/** What a step gives for all tokens but the last one, whose numbers may be poison. */
export async function othersBeside(
  hw: Attention,
  options: RecordedLayerOptions,
  poison?: number,
): Promise<Float32Array> {
  using layer = await layerOf(hw);
  using step = await hw.record((recorder) => ({
    y: recorder.layer(layer, recorder.input("x", [TOKENS, WIDTH]), options),
  }));
  const x = randomTensor(5, [TOKENS, WIDTH]);
  if (poison !== undefined) x.data.fill(poison, (TOKENS - 1) * WIDTH);
  return (await step.run({ x })).y.data.slice(0, (TOKENS - 1) * WIDTH);
}

/** Why no row of the last runs sees the hidden tokens. */
export const HIDINGS = ["rewind", "remove", "window", "ring"] as const;

interface Runs {
  /** Tokens of one run. */
  readonly rows: number;
  /** Runs before the hidden tokens, with them, and after them. */
  readonly before: number;
  readonly hidden: number;
  readonly after: number;
  readonly dtype: "float32" | "float16" | "int8";
  readonly position: { readonly kind: "rotary" } | undefined;
  readonly hiding: (typeof HIDINGS)[number];
}

/**
 * What the last runs of a step give. Runs before them brought hidden tokens into its cache.
 *
 * @param poison - What the hidden tokens are made of. Without it: numbers.
 */
export async function endsAfterHidden(hw: Attention, runs: Runs, poison?: number): Promise<readonly Tensor[]> {
  const { rows, before, hidden, after, dtype, position, hiding } = runs;
  using layer = await layerOf(hw, position && { position });
  using cache = await layer.kvCache({ dtype, ...(hiding === "ring" && { ring: { window: WINDOW } }) });
  const options = { cache, causal: true, ...(hiding === "window" && { window: { left: WINDOW } }) };
  using step = await hw.record((recorder) => ({
    y: recorder.layer(layer, recorder.input("x", [rows, WIDTH]), options),
  }));
  let seed = 5;
  const run = async (filled?: number) => {
    const x = randomTensor(seed++, [rows, WIDTH]);
    if (filled !== undefined) x.data.fill(filled);
    return (await step.run({ x })).y;
  };
  for (let n = 0; n < before; n++) await run();
  for (let n = 0; n < hidden; n++) await run(poison);
  const [from, to] = [before * rows, (before + hidden) * rows];
  if (hiding === "rewind") await cache.rewind(from);
  const outOfSight = hiding === "window" || hiding === "ring" ? Math.ceil(WINDOW / rows) : 0;
  for (let n = 0; n < Math.max(after, outOfSight); n++) await run();
  if (hiding === "remove") await cache.remove(from, to);
  return [await run(), await run()];
}
