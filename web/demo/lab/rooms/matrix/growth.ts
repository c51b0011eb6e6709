import { counted, grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import type { Sizes } from "./sizes.js";

/** A model on the way from this room to GPT-3: the sizes of one of its attention layers. */
export interface Station {
  readonly name: string;
  readonly layers: number;
  readonly sizes: Sizes;
}

const model = (name: string, layers: number, numHeads: number, headDim: number, positions: number): Station => ({
  name,
  layers,
  sizes: { positions, inputDim: numHeads * headDim, headDim, valueDim: headDim, numHeads },
});

/** Published sizes; GPT-3 is from Brown et al. 2020, table 2.1. */
export const STATIONS: readonly Station[] = [
  model("BERT base", 12, 12, 64, 512),
  model("GPT-2", 12, 12, 64, 1024),
  model("GPT-2 XL", 48, 25, 64, 1024),
  model("GPT-3 6.7B", 32, 32, 128, 2048),
  model("GPT-3", 96, 96, 128, 2048),
];

export function toy(sizes: Sizes): Station {
  return { name: t`this toy`, layers: 1, sizes };
}

/** What an attention layer holds and does. All numbers are exact. */
export interface Growth {
  /** Weights and biases of the four projections. */
  readonly parameters: number;
  /** The numbers in the scores of all heads. */
  readonly scores: number;
  /** The multiplications of all products, without scale and softmax. */
  readonly multiplications: number;
  /** The bytes of the scores in float32. */
  readonly bytes: number;
}

export function growthOf({ positions, inputDim, headDim, valueDim, numHeads }: Sizes): Growth {
  const [keys, values] = [numHeads * headDim, numHeads * valueDim];
  const projections = 2 * inputDim * keys + 2 * inputDim * values;
  const scores = numHeads * positions * positions;
  return {
    parameters: projections + 2 * keys + values + inputDim,
    scores,
    multiplications: positions * projections + scores * (headDim + valueDim),
    bytes: 4 * scores,
  };
}

export const GROWING: Readonly<Record<keyof Growth, string>> = {
  parameters: t`Parameters`,
  scores: t`Numbers in the scores`,
  multiplications: t`Multiplications`,
  bytes: t`Bytes of the scores`,
};

/** What the sizes of a station are. */
export function stationWords({ name, layers, sizes }: Station): string {
  const { positions, inputDim, headDim, numHeads } = sizes;
  const heads = counted(numHeads, "head");
  return t`${capital(name)}: ${heads} of ${headDim}, ${grouped(inputDim)} wide, ${counted(positions, "position")}, ${counted(layers, "layer")}.`;
}

/** What grew, and by how much. */
export function growthWords(station: Station, first: Sizes): string {
  const now = growthOf(station.sizes);
  if (station.layers > 1) {
    const factor = Math.round(now.multiplications / growthOf(first).multiplications);
    return t`One layer multiplies ${grouped(factor)} times as often as this toy. Its ${station.layers} attention layers have ${grouped(station.layers * now.parameters)} parameters.`;
  }
  const { positions } = station.sizes;
  const twice = growthOf({ ...station.sizes, positions: 2 * positions });
  return t`Twice the positions, ${2 * positions}, make ${twice.scores / now.scores} times the scores, ${grouped(twice.scores)}; the ${counted(now.parameters, "parameter")} stay.`;
}

function capital(words: string): string {
  return words[0]!.toUpperCase() + words.slice(1);
}
