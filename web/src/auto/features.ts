import type { AttentionSettingsOptions } from "../attention/attentionOptions.js";
import {
  NO_SETTINGS,
  SETTINGS,
  SETTINGS_NAMES,
  type AttentionSettings,
  type PlainName,
} from "../attention/attentionSettings.js";
import type { ScoreStage, Wanted } from "../attention/returns.js";
import type { FormulaData } from "../formula/graph.js";
import type { FloatsRule, NumberRule } from "../read/settingKinds.js";
import type { Kind, Row } from "../read/settingTable.js";
import type { Numbers } from "./numbers.js";
import { sampleFormula } from "./sampleFormula.js";
import { floatsOf, type Floats } from "./samples.js";

/** The settings that any value of their kind stands for. Every call has a scale, and lengths have extents of their own. */
type TypicalName = Exclude<PlainName, "scale" | "keyLengths" | "queryLengths">;

const TYPICAL = SETTINGS_NAMES.filter((name): name is TypicalName => {
  const { kind, rule } = SETTINGS[name];
  return kind === "flag" || kind === "floats" || (kind === "number" && rule.neutral !== undefined);
});

/** Which options a call has and what it returns: they select the kernels, or branches in them. */
export interface Features extends Readonly<Record<TypicalName, boolean>> {
  readonly causal: "none" | "upper-left" | "lower-right";
  readonly window: boolean;
  readonly lengths: boolean;
  readonly mask: boolean;
  readonly bias: Floats | undefined;
  readonly dropout: boolean;
  readonly score: FormulaData | undefined;
  readonly visible: FormulaData | undefined;
  readonly output: boolean;
  readonly lse: boolean;
  readonly entropy: boolean;
  readonly probs: boolean | "average";
  readonly topK: boolean | "average";
  readonly scores: ScoreStage | false;
}

/** The features of a call without any option. */
export const PLAIN = featuresOf(NO_SETTINGS, {
  output: true,
  lse: false,
  entropy: false,
  probs: undefined,
  topK: undefined,
  scores: undefined,
});

export function featuresOf(settings: AttentionSettings, wanted: Wanted): Features {
  const { causal, window, keyLengths, queryLengths, mask, bias } = settings;
  const inspected = (selection: { readonly average: boolean } | undefined) =>
    selection !== undefined && (selection.average ? "average" : true);
  return {
    causal,
    window: (window.left ?? window.right) !== undefined,
    lengths: (keyLengths ?? queryLengths) !== undefined,
    mask: mask !== undefined,
    bias: bias?.tensor.dtype,
    ...typical((name) => settings[name] !== SETTINGS[name].absent),
    dropout: settings.dropout !== undefined,
    score: settings.score,
    visible: settings.visible,
    output: wanted.output,
    lse: wanted.lse,
    entropy: wanted.entropy,
    probs: inspected(wanted.probs),
    topK: inspected(wanted.topK?.selection),
    scores: wanted.scores?.stage ?? false,
  };
}

function typical<T>(of: (name: TypicalName) => T): Record<TypicalName, T> {
  return Object.fromEntries(TYPICAL.map((name) => [name, of(name)])) as Record<TypicalName, T>;
}

/** A value of the setting, by its kind and rule. */
function typicalValue(name: TypicalName, numbers: Numbers, numHeads: number): unknown {
  const { kind, rule }: Row<Kind, unknown, NumberRule | FloatsRule | undefined, never> = SETTINGS[name];
  if (kind === "flag") return true;
  if (kind === "floats") return numbers.floats(numHeads, (rule as FloatsRule).usual ?? 1);
  const { min, above = 0 } = rule as NumberRule;
  return (min ?? above) + 5;
}

/** The features as words, for names. */
export function featureNames(features: Features): string[] {
  return Object.entries(features)
    .flatMap(([name, value]: [string, unknown]) => {
      if (value === undefined || value === false || value === "none") return [];
      if (name === "output") return [];
      if (name === "score" || name === "visible") return [`${name} ${JSON.stringify((value as FormulaData).text)}`];
      return [value === true ? name : `${name} ${value as string}`];
    })
    .concat(features.output ? [] : ["no output"]);
}

/** The public options of a small call that has these features. */
export function sampleOptions(
  features: Features,
  numbers: Numbers,
  extents: { readonly batchSize: number; readonly numHeads: number; readonly queries: number; readonly keys: number },
): Record<string, unknown> {
  const { batchSize, numHeads, queries, keys } = extents;
  const matrix = [1, 1, queries, keys];
  const settings: Readonly<Record<keyof AttentionSettingsOptions, unknown>> = {
    scale: undefined, // a number that every call has
    causal: features.causal === "none" ? undefined : features.causal,
    queryOffset: undefined, // a number that every sequence has
    window: features.window ? { left: Math.max(1, keys >> 1) } : undefined,
    keyLengths: features.lengths ? Int32Array.from({ length: batchSize }, () => Math.max(1, keys - 3)) : undefined,
    queryLengths: undefined, // as keyLengths
    mask: features.mask ? { data: numbers.mask(queries, keys), shape: matrix } : undefined,
    bias: features.bias && floatsOf(numbers, features.bias, matrix),
    ...typical((name) => (features[name] ? typicalValue(name, numbers, numHeads) : undefined)),
    dropout: features.dropout ? { rate: 0.5, seed: 0 } : undefined,
    score: features.score && sampleFormula(features.score),
    visible: features.visible && sampleFormula(features.visible),
    emptyRows: undefined, // a number that every call has
  };
  return {
    ...settings,
    returns: {
      output: features.output,
      lse: features.lse,
      entropy: features.entropy,
      ...(features.probs && { probs: features.probs === "average" ? { average: true } : true }),
      ...(features.topK && { topK: { k: Math.min(3, keys), average: features.topK === "average" } }),
      ...(features.scores && { scores: features.scores }),
    },
  };
}
