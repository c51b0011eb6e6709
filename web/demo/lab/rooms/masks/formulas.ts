import { alibiSlopes } from "headwise";

import { UNBOUNDED, type Settings } from "./settings.js";

/** The texts of the three fields. An empty formula changes nothing. */
export interface Formulas {
  readonly visible: string;
  readonly score: string;
  readonly parameters: string;
}

/** The formulas that mean the same as the options. */
export function formulasOf(settings: Settings): Formulas {
  const { queries, keys, causal, left, right, keyLength, excludeSelf, alibi, softcap, heads } = settings;
  const length = Math.min(keyLength, keys);
  const isShifted = causal === "lower-right" && length !== queries;
  const own = !isShifted ? "q" : length === keys ? "q + Skv - Sq" : "q + length - Sq";
  const conditions = {
    [`k < length`]: length < keys,
    [`k <= ${own}`]: causal !== "off",
    [`${own} - k <= left`]: left < UNBOUNDED,
    [`k <= ${own} + right`]: right < UNBOUNDED,
    [`k != ${own}`]: excludeSelf,
  };
  const capped = softcap > 0 ? "cap * tanh(s / cap)" : "s";
  const given = {
    [`length = ${length}`]: length < keys,
    [`left = ${left}`]: left < UNBOUNDED,
    [`right = ${right}`]: right < UNBOUNDED,
    [`cap = ${softcap}`]: softcap > 0,
    [`slope = [${Array.from(alibiSlopes(heads), (slope) => Number(slope.toPrecision(7))).join(", ")}]`]: alibi,
  };
  return {
    visible: chosen(conditions).join(" && "),
    score: alibi ? `${capped} - slope[h] * abs(${own} - k)` : softcap > 0 ? capped : "",
    parameters: chosen(given).join("\n"),
  };
}

/** What is computed, as formulas. */
export function shownFormulas(settings: Settings): Formulas {
  const { rules, visible, score, parameters } = settings;
  return rules === "formulas" ? { visible, score, parameters } : formulasOf(settings);
}

export function sameFormulas(one: Formulas, other: Formulas): boolean {
  const names = ["visible", "score", "parameters"] as const;
  return names.every((name) => one[name].trim() === other[name].trim());
}

/** The texts of which the condition holds, in their order. */
function chosen(texts: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(texts).filter((text) => texts[text]);
}
