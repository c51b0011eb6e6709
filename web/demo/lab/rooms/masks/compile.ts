import { formula, type Formula } from "headwise/formula";

import { adviceOf } from "../../shell/advice.js";
import { t } from "../../../texts/t.js";
import type { Formulas } from "./formulas.js";
import { readParameters } from "./parameters.js";

/** Formulas as options of a call. One that is empty is absent. */
export interface Compiled {
  readonly visible?: Formula;
  readonly score?: Formula;
}

/** What is wrong with a text. */
export interface Fault {
  readonly words: string;
  /** The end of the words that is English in every language, because the package says it. */
  readonly english: string;
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
      faults[field] = faultOf(error, field === "parameters");
      return undefined;
    }
  };
  const given = tried("parameters", () => readParameters(texts.parameters));
  const read = (field: "visible" | "score") =>
    given && texts[field].trim() !== "" ? tried(field, () => formula(texts[field], given)) : undefined;
  const [visible, score] = [read("visible"), read("score")];
  return { compiled: { ...(visible && { visible }), ...(score && { score }) }, faults };
}

/** The formulas; where one is wrong, the last one that was right. */
export function keeping(compiled: Compiled, faults: Faults, right: Compiled): Compiled {
  const isWrong = (field: "visible" | "score") => (faults.parameters ?? faults[field]) !== undefined;
  const visible = isWrong("visible") ? right.visible : compiled.visible;
  const score = isWrong("score") ? right.score : compiled.score;
  return { ...(visible && { visible }), ...(score && { score }) };
}

/** The problem, its hint, and the line that shows the place. The room's own errors are in the page's language. */
export function faultOf(error: unknown, isOwn = false): Fault {
  const { message, position } = error as { message?: string; position?: number };
  const [problem = "", ...excerpt] = (message ?? String(error)).replace(/^formula: /, "").split("\n");
  const place = position === undefined ? "" : t`Character ${position + 1}: `;
  const advice = adviceOf(error);
  const ended = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`);
  const said = ended(problem) + (advice ? ` ${ended(advice)}` : "");
  return {
    words: place + said,
    english: isOwn ? "" : said,
    excerpt: excerpt.join("\n"),
  };
}
