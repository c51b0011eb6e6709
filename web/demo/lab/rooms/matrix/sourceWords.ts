import type { Form } from "./steps.js";
import { CHANNELS, originOfX, PATCH, type Source } from "./source.js";
import type { Sizes } from "./sizes.js";
import { count } from "./words.js";
import { listed } from "../../shell/amounts.js";

/** What one position of X is, and what of its numbers is there: one sentence, or two or three. */
export function sourceWords(
  source: Source,
  { positions, inputDim }: Pick<Sizes, "positions" | "inputDim">,
  form: Form,
): string {
  const line = form === "columns" ? "column" : "row";
  const what = {
    words: `A ${line} of X is a word: the numbers of its vector.`,
    series: `A ${line} of X is a moment, here a day: one number for each channel: ${listed(CHANNELS)}. 0 is a usual day.`,
    image: `A ${line} of X is a patch of the image: its ${PATCH} × ${PATCH} pixels, one after another. 0 is dark, and 1 is bright.`,
  }[source];
  return [what, rowsWords(source, positions), widthWords(source, inputDim, form)].filter(Boolean).join(" ");
}

function rowsWords(source: Source, positions: number): string {
  const all = originOfX(source).names.length;
  if (source === "words" || positions === all) return "";
  return `X has the first ${positions} of ${all} ${source === "series" ? "days" : "patches"}.`;
}

function widthWords(source: Source, inputDim: number, form: Form): string {
  const { width } = originOfX(source);
  if (source === "words" || inputDim === width) return "";
  const number = source === "series" ? "channel" : "pixel";
  if (inputDim < width) return `Of the ${count(width, number)} it has the first ${inputDim}.`;
  const across = form === "columns" ? "row" : "column";
  return inputDim === width + 1
    ? `The last ${across} belongs to no ${number}, and is 0 at first.`
    : `The last ${inputDim - width} ${across}s belong to no ${number}, and are 0 at first.`;
}
