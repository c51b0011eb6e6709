import type { Encoder } from "../model/encoder.js";
import { packed, type PackedEncoding } from "../model/packed.js";
import { FIRST_SENTENCES } from "../model/story.js";

/** The first sentences of the lab, with positions and without. */
export async function firstEncodings(encoder: Encoder): Promise<PackedEncoding[]> {
  const encodings = [];
  for (const text of FIRST_SENTENCES)
    for (const positions of [true, false]) encodings.push(packed(await encoder.encode(text, { positions }), positions));
  return encodings;
}
