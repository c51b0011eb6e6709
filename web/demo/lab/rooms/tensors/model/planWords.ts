import type { ModelPlan, Precision } from "headwise/models";

import { listed } from "../../../shell/amounts.js";
import { bytes, counted, many } from "../../../shell/numbers.js";
import { sizeWords, TYPES } from "./words.js";
import { t } from "../../../../texts/t.js";

/** So many names are written out. */
const MOST_NAMES = 5;

export const PRECISIONS: readonly Precision[] = ["as-stored", "float32", "float16", "bfloat16", "int8"];

/** "A model of the type GPT-2 with 12 layers of 12 heads, 768 wide: 124 million weights, 475 MB in the files." */
export function planWords({ config, parameters, storedBytes }: ModelPlan): string {
  const { modelType, numLayers, numHeads, modelDim } = config;
  const sizes = sizeWords(numLayers, numHeads, modelDim);
  return t`A model of the type ${TYPES[modelType] ?? modelType} with ${sizes}: ${many(parameters)} weights, ${bytes(storedBytes)} in the files.`;
}

/** What the button does: "Load the model: fetches about 475 MB from …" for a model of that server. */
export function loadWords({ storedBytes }: Pick<ModelPlan, "storedBytes">, host: string | undefined): string {
  if (host === undefined) return t`Load the model`;
  return t`Load the model: fetches about ${bytes(storedBytes)} from ${host}, and keeps them in this browser`;
}

/** "float16: 237 MB", and why it cannot be chosen. */
export function precisionWords(plan: ModelPlan, precision: Precision): string {
  const words = `${precision === "as-stored" ? t`as stored` : precision}: ${bytes(plan.bytes[precision])}`;
  if (plan.fits.includes(precision)) return words;
  return t`${words}; it does not fit, because loading needs ${bytes(plan.neededBytes[precision])}`;
}

/** Why a model cannot be loaded, in one sentence; undefined if it can. */
export function refusalWords({
  unknownFields,
  missingFiles,
  fits,
  neededBytes,
  limitBytes,
}: ModelPlan): string | undefined {
  if (unknownFields.length > 0)
    return unknownFields.length === 1
      ? t`This model is refused: it is not known what ${names(unknownFields)} of config.json changes.`
      : t`This model is refused: it is not known what ${names(unknownFields)} of config.json change.`;
  if (missingFiles.length > 0)
    return missingFiles.length === 1
      ? t`This model cannot be loaded: ${names(missingFiles)} is missing.`
      : t`This model cannot be loaded: ${names(missingFiles)} are missing.`;
  if (fits.length > 0) return undefined;
  const least = Math.min(...PRECISIONS.map((precision) => neededBytes[precision]));
  return t`This model does not fit: it needs at least ${bytes(least)}, and the engine can have ${bytes(limitBytes!)}.`;
}

/** What stands under the room's title before a model is loaded. */
export function planFinding(plan: ModelPlan): string {
  return refusalWords(plan) ?? t`${planWords(plan)} No weight has been read yet.`;
}

/** What nothing reads, and of a model on a server what is not fetched. */
export function notesOf({ unusedTensors, ignoredFields }: ModelPlan, host?: string): string[] {
  return [
    ...(host !== undefined ? [t`What this browser keeps of it already is not fetched again.`] : []),
    ...(unusedTensors.length > 0 ? [t`Nothing reads ${tensors(unusedTensors)}.`] : []),
    ...(ignoredFields.length > 0 ? [t`These fields of config.json change nothing: ${names(ignoredFields)}.`] : []),
  ];
}

const tensors = (all: readonly string[]) => t`${counted(all.length, "tensor")} of the files: ${names(all)}`;

/** "a, b and 7 more" */
function names(all: readonly string[]): string {
  const more = all.length - MOST_NAMES;
  return listed(more > 0 ? [...all.slice(0, MOST_NAMES), t`${more} more`] : all);
}
