import type {
  CopyingResult,
  ExperimentResult,
  Expected,
  SwapResult,
  TooFewResult,
  WeightResult,
} from "../../engine/experimentProtocol.js";
import { listed, percent } from "../../shell/amounts.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { headWords } from "../../shell/headWords.js";
import { t } from "../../../texts/t.js";
import { sign } from "./words.js";

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
    case "tooFew":
      return tooFewWords(result);
    default:
      return result satisfies never;
  }
}

function swapWords({ order, head, moved, before, after, control }: SwapResult): ExperimentWords {
  const { swap, control: other } = order;
  const name = headWords(head);
  const looks = t`It looked at “${sign(before.on)}” (${share(before.share)}), and looks at “${sign(after.on)}” now (${share(after.share)}).`;
  return {
    seen: t`The last “${swap.from}” is now “${swap.to}”. Of all heads ${name} moves most: ${share(moved)} of its weight. ${looks} The model expected ${expected(before)}, and expects ${expected(after)} now.`,
    control: t`The control: another word, “${other.from}”, becomes “${other.to}” instead. The same head moves ${share(control.moved)} of its weight, and the model expects ${expected(control)}.`,
  };
}

function copyingWords(result: CopyingResult, heads: number): ExperimentWords {
  const { expected: whole, alone, left, without } = result;
  const word = sign(whole.word);
  const said = without.word === whole.word ? "" : t`The model says ${expected(without)} instead.`;
  const [one] = result.heads;
  const [looks, falls] =
    result.heads.length === 1
      ? [
          t`A head that copies looks at the earlier “${word}”. Here it is ${headWords(one!)}: ${share(result.share)} of its weight is there.`,
          t`With all heads the model expects ${expected(whole)}. Without that head “${word}” has ${share(left)}.`,
        ]
      : [
          t`Heads that copy look at the earlier “${word}”. Here these have at least ${share(result.share)} of their weight there: ${groupWords(result.heads, heads)}.`,
          t`With all heads the model expects ${expected(whole)}. Without any one of them “${word}” still has at least ${share(alone)}. Without all of them it has ${share(left)}.`,
        ];
  return { seen: [looks, falls, said].filter(Boolean).join(" "), control: otherHeadsWords(result, heads) };
}

function otherHeadsWords({ heads: copying, others, expected: whole, control }: CopyingResult, heads: number): string {
  const [word, chance, names] = [sign(whole.word), share(control), groupWords(others, heads)];
  if (others.length < copying.length)
    return t`The control: all other heads are off, ${names}. “${word}” has ${chance}.`;
  return others.length === 1
    ? t`The control: another head is off, ${names}. “${word}” has ${chance}.`
    : t`The control: as many other heads are off, ${names}. “${word}” has ${chance}.`;
}

function weightWords({ expected: whole, needed, spared, without, still, control }: WeightResult): ExperimentWords {
  const [one, other] = [headWords(needed), headWords(spared)];
  const looks = t`With all heads the model expects ${expected(whole)}. Two of the heads that look at that word: ${one} has ${share(needed.share)} of its weight there, ${other} ${share(spared.share)}.`;
  const then =
    without.word === whole.word
      ? t`Without ${one} the model expects ${expected(without)} all the same.`
      : t`Without ${one} the model expects ${expected(without)}, though ${other} has ${share(still)} on “${sign(whole.word)}” then, too.`;
  return {
    seen: `${looks} ${then}`,
    control: t`The control: without ${other} the model expects ${expected(control)}. A weight says where a head looks. Only a change says what the answer depends on.`,
  };
}

/** Says why there is nothing to switch off. */
function tooFewWords({ order, expected: whole, stands, closest }: TooFewResult): ExperimentWords {
  const expects = t`With all heads the model expects ${expected(whole)}.`;
  const word = sign(whole.word);
  const why = stands
    ? t`Most of all ${headWords(closest)} looks at the earlier “${word}”, with ${share(closest.share)} of its weight.`
    : t`The text does not have that word, so no head can look at it.`;
  const need =
    order.kind === "copying"
      ? t`This experiment needs a head with more than half of its weight there. End the text where something is said again.`
      : t`This experiment needs two heads with more than half of their weight there. End the text before a word that it has.`;
  return { seen: `${expects} ${why} ${need}`, control: "" };
}

/** "all heads of layer 2", "layer 1 head 3 and layer 2 head 1" */
function groupWords(places: readonly HeadPlace[], heads: number): string {
  const { layer } = places[0]!;
  const isLayer = places.length === heads && places.every((place) => place.layer === layer);
  return isLayer ? t`all heads of layer ${layer}` : listed(places.map(headWords));
}

function expected({ word, chance }: Expected): string {
  return t`“${sign(word)}” (${share(chance)})`;
}

function share(value: number): string {
  return percent(value, 1);
}
