import { count } from "./words.js";
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
  return { name: "this toy", layers: 1, sizes };
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
  parameters: "Parameters",
  scores: "Numbers in the scores",
  multiplications: "Multiplications",
  bytes: "Bytes of the scores",
};

/** What the sizes of a station are. */
export function stationWords({ name, layers, sizes }: Station): string {
  const { positions, inputDim, headDim, numHeads } = sizes;
  const shape = `${count(numHeads, "head")} of ${headDim}, ${inputDim.toLocaleString("en")} wide, ${count(positions, "position")}`;
  return `${capital(name)}: ${shape}, ${count(layers, "layer")}.`;
}

/** What grew, and by how much. */
export function growthWords(station: Station, first: Sizes): string {
  const now = growthOf(station.sizes);
  if (station.layers > 1) {
    const all = `Its ${station.layers} attention layers have ${(station.layers * now.parameters).toLocaleString("en")} parameters.`;
    const factor = Math.round(now.multiplications / growthOf(first).multiplications);
    return `One layer multiplies ${factor.toLocaleString("en")} times as often as this toy. ${all}`;
  }
  const { positions } = station.sizes;
  const twice = growthOf({ ...station.sizes, positions: 2 * positions });
  return `Twice the positions, ${2 * positions}, make ${twice.scores / now.scores} times the scores, ${twice.scores.toLocaleString("en")}; the ${count(now.parameters, "parameter")} stay.`;
}

function capital(words: string): string {
  return words[0]!.toUpperCase() + words.slice(1);
}
