import { formula, type Formula } from "headwise/formula";

import type { Formulas } from "./formulas.js";
import { readParameters, type Given } from "./parameters.js";

/** Formulas as options of a call. One that is empty is absent. */
export interface Compiled {
  readonly visible?: Formula;
  readonly score?: Formula;
}

/** What is wrong with a text. */
export interface Fault {
  readonly words: string;
  /** The line of the formula, and a line with a caret below the character. */
  readonly excerpt: string;
}
export type Faults = { readonly [Field in keyof Formulas]?: Fault };

/** Compiles the formulas that are not empty. A fault of the parameters keeps them from being read. */
export function compile(texts: Formulas): { readonly compiled: Compiled; readonly faults: Faults } {
  const faults: { -readonly [Field in keyof Faults]: Fault } = {};
  const tried = <T>(field: keyof Formulas, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      faults[field] = faultOf(error);
      return undefined;
    }
  };
  const given = tried("parameters", () => readParameters(texts.parameters));
  const read = (field: "visible" | "score") =>
    given && texts[field].trim() !== ""
      ? tried(field, () => formula(texts[field], parametersOf(texts[field], given)))
      : undefined;
  const [visible, score] = [read("visible"), read("score")];
  return { compiled: { ...(visible && { visible }), ...(score && { score }) }, faults };
}

/** The parameters whose names are in the text. */
export function parametersOf(text: string, given: Readonly<Record<string, Given>>): Readonly<Record<string, Given>> {
  const names = new Set(text.match(/[A-Za-z]\w*/g));
  return Object.fromEntries(Object.entries(given).filter(([name]) => names.has(name)));
}

/** The problem and its hint as sentences, without the line that shows the place. */
export function faultOf(error: unknown): Fault {
  const { message, hint, position } = error as { message?: string; hint?: string; position?: number };
  const [problem = "", ...excerpt] = (message ?? String(error)).replace(/^formula: /, "").split("\n");
  const place = position === undefined ? "" : `, at character ${position + 1}`;
  const advice = hint?.replace(/\s*See node_modules.*$/s, "").trim();
  const sentence = (text: string) =>
    `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
  return {
    words: sentence(problem + place) + (advice ? ` ${sentence(advice)}` : ""),
    excerpt: excerpt.join("\n"),
  };
}
