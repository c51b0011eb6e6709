import type { AttentionOptions, ForwardOptions, LayerOptions } from "headwise";

import type { Floats } from "../../engine/floats.js";
import { choice, flag, number, type Values } from "../../shell/field.js";
import { randomNormal } from "../../shell/random.js";
import type { FileTensor } from "./files/numbers.js";
import type { FileEntry } from "./files/safetensors.js";
import { modelFields } from "./model/settings.js";
import { t } from "../../../texts/t.js";

export const fields = {
  mode: choice("model", ["model", "layer", "attention"]),
  layout: choice("BHSD", ["BHSD", "BSHD", "BSE", "BES"]),
  heads: number(4, { min: 1, max: 64 }),
  kvHeads: number(4, { min: 1, max: 64 }),
  causal: flag(false),
  scale: number(1, { min: 0, max: 4, step: 0.1 }),
  stored: choice("out-in", ["in-out", "out-in"]),
  ...modelFields,
};
export type Settings = Values<typeof fields>;

/** How many tokens stand in for X where no tensor is chosen. */
export const RANDOM_TOKENS = 24;

/** A call of the package, made from dropped tensors. */
export interface AttentionCall {
  readonly kind: "attention";
  readonly query: Floats;
  readonly key: Floats;
  readonly value: Floats;
  readonly options: AttentionOptions;
}
export interface LayerCall {
  readonly kind: "layer";
  readonly layer: LayerOptions;
  readonly x: Floats;
  readonly options: Omit<ForwardOptions, "location">;
}

export function attentionCall(
  assigned: ReadonlyMap<string, FileEntry>,
  { layout, heads, kvHeads, causal, scale }: Settings,
): AttentionCall {
  const [query, key, value] = ["query", "key", "value"].map((id) => floats(needed(assigned, id))) as [
    Floats,
    Floats,
    Floats,
  ];
  const isPacked = layout === "BSE" || layout === "BES";
  return {
    kind: "attention",
    query,
    key,
    value,
    options: {
      layout: layout,
      causal,
      ...(isPacked && { numHeads: heads, numKvHeads: kvHeads }),
      ...(scale !== 1 && { scale: scale / Math.sqrt(headDim(query, layout, heads)) }),
    },
  };
}

export function layerCall(
  assigned: ReadonlyMap<string, FileEntry>,
  { heads, kvHeads, causal, stored }: Settings,
): LayerCall {
  const turn = (tensor: FileTensor) => (stored === "out-in" ? transposed(tensor) : floats(tensor));
  const weight = (id: string) => turn(needed(assigned, id));
  const optional = (id: string, read: (tensor: FileTensor) => Floats) => {
    const entry = assigned.get(id);
    return entry ? { [id]: read(entry.read()) } : {};
  };
  const Wq = weight("Wq");
  const [inputDim, modelDim] = Wq.shape as [number, number];
  return {
    kind: "layer",
    layer: {
      inputDim,
      modelDim,
      numHeads: heads,
      numKvHeads: kvHeads,
      outputProjection: assigned.has("Wo"),
      weights: {
        Wq,
        Wk: weight("Wk"),
        Wv: weight("Wv"),
        ...optional("Wo", turn),
        ...optional("bq", floats),
        ...optional("bk", floats),
        ...optional("bv", floats),
        ...optional("bo", floats),
      },
    },
    x: tokens(assigned.get("x")?.read(), inputDim),
    options: { causal },
  };
}

/** [1, tokens, width] */
function tokens(x: FileTensor | undefined, width: number): Floats {
  if (!x) return { data: randomNormal(9, RANDOM_TOKENS * width), shape: [1, RANDOM_TOKENS, width] };
  return { data: x.data, shape: x.shape.length === 2 ? [1, ...x.shape] : x.shape };
}

function needed(assigned: ReadonlyMap<string, FileEntry>, id: string): FileTensor {
  const entry = assigned.get(id);
  if (!entry) throw new Error(t`no tensor is chosen for ${id}`);
  return entry.read();
}

function floats({ data, shape }: FileTensor): Floats {
  return { data, shape };
}

function transposed({ data, shape, name }: FileTensor): Floats {
  if (shape.length !== 2) throw new Error(t`${name} should be a matrix, and has the shape [${shape.join(", ")}]`);
  const [rows, columns] = shape as [number, number];
  const turned = Float32Array.from(data, (_, at) => data[(at % rows) * columns + Math.floor(at / rows)]!);
  return { data: turned, shape: [columns, rows] };
}

function headDim({ shape }: Floats, layout: string, heads: number): number {
  if (layout === "BES") return shape.at(-2)! / heads;
  return layout === "BSE" ? shape.at(-1)! / heads : shape.at(-1)!;
}
