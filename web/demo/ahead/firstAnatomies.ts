import { optionsOf } from "../lab/rooms/lesson/reading.js";
import { anatomyOf, type Anatomy } from "../model/anatomy.js";
import type { Encoder } from "../model/encoder.js";
import { PARK } from "../model/story.js";

/** The first sentence of the lesson, with positions and without. */
export async function firstAnatomies(encoder: Encoder): Promise<readonly [placed: Anatomy, unplaced: Anatomy]> {
  const read = async (positions: boolean) =>
    anatomyOf(await encoder.encode(PARK, { ...optionsOf(positions), inside: true }));
  return [await read(true), await read(false)];
}
