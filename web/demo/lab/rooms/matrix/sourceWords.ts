import { listed } from "../../shell/amounts.js";
import { t } from "../../../texts/t.js";
import { ACROSS, ALL_ACROSS, LINE } from "./lines.js";
import type { Form } from "./steps.js";
import { CHANNELS, originOfX, PATCH, type Source } from "./source.js";
import type { Sizes } from "./sizes.js";

/** What one position of X is, and what of its numbers is there: one sentence, or two or three. */
export function sourceWords(
  source: Source,
  { positions, inputDim }: Pick<Sizes, "positions" | "inputDim">,
  form: Form,
): string {
  const line = LINE[form];
  const what = {
    words: t`A ${line} of X is a word: the numbers of its vector.`,
    series: t`A ${line} of X is a moment, here a day: one number for each channel: ${listed(CHANNELS)}. 0 is a usual day.`,
    image: t`A ${line} of X is a patch of the image: its ${PATCH} × ${PATCH} pixels, one after another. 0 is dark, and 1 is bright.`,
  }[source];
  return [what, rowsWords(source, positions), widthWords(source, inputDim, form)].filter(Boolean).join(" ");
}

/** What is said of words that came with the address: the lesson's. */
export function namedWords(): string {
  return t`The words are those of the lesson: X picks for each its row of W_Q, W_K and W_V, so scores, weights and the first numbers of the values are the lesson’s. “${t`others`}” are the other words in one row.`;
}

function rowsWords(source: Source, positions: number): string {
  const all = originOfX(source).names.length;
  if (source === "words" || positions === all) return "";
  return source === "series"
    ? t`X has the first ${positions} of ${all} days.`
    : t`X has the first ${positions} of ${all} patches.`;
}

function widthWords(source: Source, inputDim: number, form: Form): string {
  const { width } = originOfX(source);
  if (source === "words" || inputDim === width) return "";
  const isSeries = source === "series";
  if (inputDim < width)
    return isSeries
      ? t`Of the ${width} channels it has the first ${inputDim}.`
      : t`Of the ${width} pixels it has the first ${inputDim}.`;
  const [more, across, allAcross] = [inputDim - width, ACROSS[form], ALL_ACROSS[form]];
  if (more === 1)
    return isSeries
      ? t`The last ${across} belongs to no channel, and is 0 at first.`
      : t`The last ${across} belongs to no pixel, and is 0 at first.`;
  return isSeries
    ? t`The last ${more} ${allAcross} belong to no channel, and are 0 at first.`
    : t`The last ${more} ${allAcross} belong to no pixel, and are 0 at first.`;
}
