import { FORMS } from "./forms.js";
import { termsOf } from "./pattern.js";
import { SHAPES } from "./shapes.js";

/** Ends a story, and stands before the first word. */
export const BREAK = "\n";

/** All words and signs of the stories, in the order of Unicode: the line break is the first. */
export function storyWords(): readonly string[] {
  const said = Object.values(FORMS)
    .flatMap(termsOf)
    .filter((term) => typeof term === "string");
  const shown = Object.values(SHAPES).flatMap(({ words }) => Object.values(words));
  return [...new Set([BREAK, ...said, ...shown])].filter((word) => word !== "").sort();
}
