import { random } from "headwise/train";
import type { Page } from "playwright-core";

import type { DecoderConfig } from "../../../web/demo/generate/decoderFile.js";
import { initialParameters } from "../../../web/demo/train/model.js";
import { storeWeights } from "../../../web/demo/train/storedWeights.js";

const CHARACTERS = { text: "\n abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,:;'-?!", sums: "\n0123456789+=" };

/** A decoder whose weights are random numbers, in the form of the trained ones. */
export function randomDecoder(
  kind: DecoderConfig["kind"],
  { layers = 2, heads = 2, width = 16 } = {},
): { readonly config: DecoderConfig; readonly bytes: Uint8Array } {
  const characters = CHARACTERS[kind];
  const architecture = { vocabulary: [...characters].length, width, layers, heads };
  const rest = { position: "rotary", length: 128, feedForward: 4 * width } as const;
  const parameters = initialParameters({ ...architecture, ...rest }, random(1), 2 / Math.sqrt(width));
  const bytes = storeWeights(parameters);
  const config: DecoderConfig = {
    kind,
    characters,
    ...{ layers, heads, width, position: "rotary", context: 128 },
    source: "Random weights",
    figures: { parameters: 12_345, natsPerCharacter: 4.1, exact: 0, minutes: 0 },
    sample: "the words of a text that nobody has learned from. ".repeat(8),
    ...(kind === "sums" && { end: "\n", reversed: true }),
  };
  return { config, bytes };
}

/** Gives a page random decoders in the place of the trained ones. */
export async function routeDecoders(page: Page, sizes?: Parameters<typeof randomDecoder>[1]): Promise<void> {
  for (const kind of ["text", "sums"] as const) {
    const { config, bytes } = randomDecoder(kind, sizes);
    await page.route(`**/decoders/${kind}.json`, (route) => route.fulfill({ json: config }));
    await page.route(`**/decoders/${kind}.safetensors`, (route) => route.fulfill({ body: Buffer.from(bytes) }));
  }
}
