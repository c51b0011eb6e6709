import { element } from "./element.js";

/** A text with its symbols as they are set: the letter after "_", as in "W_Q", is an index. */
export function withIndices(text: string): (HTMLElement | string)[] {
  return text.split(/(?<=\b\w)_(\w)/).map((part, at) => (at % 2 === 1 ? element("sub", {}, part) : part));
}
