import { random, type Random } from "headwise/train";

import { KINDS } from "./kinds.js";
import { Teller, type Story } from "./teller.js";

/** One story in so many is held out: no training sees it. */
const HELD_OUT_OF = 20;

/** The story of a seed. */
export function storyOf(seed: number): Story {
  return told(random(seed));
}

export function told(source: Random): Story {
  const teller = new Teller(source);
  teller.one(KINDS)(teller);
  return teller.story;
}

/** Draws until a story is held out, or is not. */
export function drawStory(source: Random, heldOut: boolean): Story {
  for (;;) {
    const story = told(source);
    if (isHeldOut(story) === heldOut) return story;
  }
}

/** By a hash of all words (FNV-1a), so that the same story is always held out, or never. */
export function isHeldOut({ words }: Pick<Story, "words">): boolean {
  let hash = 0x811c9dc5;
  for (const character of words.join(" ")) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  return (hash >>> 8) % HELD_OUT_OF === 0;
}
