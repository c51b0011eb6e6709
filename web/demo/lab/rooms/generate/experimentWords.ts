import type {
  CopyingResult,
  ExperimentResult,
  Expected,
  SwapResult,
  WeightResult,
} from "../../engine/experimentProtocol.js";
import { listed, percent } from "../../shell/amounts.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { headWords } from "../../shell/headWords.js";
import { t } from "../../../texts/t.js";
import { EXPERIMENTS } from "./experiments.js";

/** What an experiment has shown, and its control. */
export interface ExperimentWords {
  readonly seen: string;
  readonly control: string;
}

/** @param heads - How many heads a layer has. */
export function experimentWords(result: ExperimentResult, heads: number): ExperimentWords {
  switch (result.kind) {
    case "swap":
      return swapWords(result);
    case "copying":
      return copyingWords(result, heads);
    case "weight":
      return weightWords(result);
    default:
      return result satisfies never;
  }
}

function swapWords({ head, moved, before, after, control }: SwapResult): ExperimentWords {
  const { swap, control: other } = EXPERIMENTS.swap;
  const name = headWords(head);
  const looks = t`It looked at “${before.on}” (${share(before.share)}), and looks at “${after.on}” now (${share(after.share)}).`;
  return {
    seen: t`The last “${swap.from}” is now “${swap.to}”. Of all heads ${name} moves most: ${share(moved)} of its weight. ${looks} The model expected ${expected(before)}, and expects ${expected(after)} now.`,
    control: t`The control: another word, “${other.from}”, becomes “${other.to}” instead. The same head moves ${share(control.moved)} of its weight, and the model expects ${expected(control)}.`,
  };
}

function copyingWords(result: CopyingResult, heads: number): ExperimentWords {
  const { expected: whole, alone, left, without } = result;
  const { word } = whole;
  const looks = t`Heads that copy look at the earlier “${word}”. Here these have at least ${share(result.share)} of their weight there: ${groupWords(result.heads, heads)}.`;
  const said = without.word === word ? "" : t`The model says ${expected(without)} instead.`;
  return {
    seen: [
      looks,
      t`With all heads the model expects ${expected(whole)}. Without any one of them “${word}” still has at least ${share(alone)}. Without all of them it has ${share(left)}.`,
      said,
    ]
      .filter(Boolean)
      .join(" "),
    control: t`The control: as many other heads are off, ${groupWords(result.others, heads)}. “${word}” has ${share(result.control)}.`,
  };
}

function weightWords({ expected: whole, needed, spared, without, still, control }: WeightResult): ExperimentWords {
  const [one, other] = [headWords(needed), headWords(spared)];
  return {
    seen: t`With all heads the model expects ${expected(whole)}. Two of the heads that look at that word: ${one} has ${share(needed.share)} of its weight there, ${other} ${share(spared.share)}. Without ${one} the model expects ${expected(without)}, though ${other} has ${share(still)} on “${whole.word}” then, too.`,
    control: t`The control: without ${other} the model expects ${expected(control)}. A weight says where a head looks. Only a change says what the answer depends on.`,
  };
}

/** "all heads of layer 2", "layer 1 head 3 and layer 2 head 1" */
function groupWords(places: readonly HeadPlace[], heads: number): string {
  const { layer } = places[0]!;
  const isLayer = places.length === heads && places.every((place) => place.layer === layer);
  return isLayer ? t`all heads of layer ${layer}` : listed(places.map(headWords));
}

function expected({ word, chance }: Expected): string {
  return t`“${word}” (${share(chance)})`;
}

function share(value: number): string {
  return percent(value, 1);
}
