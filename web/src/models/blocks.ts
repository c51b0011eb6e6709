import type { LayerPosition } from "../layer/layerPosition.js";
import type { LayerOptions } from "../layer/layerProblem.js";
import type { LayerWeights } from "../layer/layerWeights.js";
import type { Eventually } from "../turn/context.js";
import type { Arithmetic } from "./arithmetic.js";
import type { AttentionCall, AttentionPart } from "./attentionPart.js";
import { normOf, type Design } from "./design.js";
import type { AttentionForm, Biases, HalfNorms, LayerPlace } from "./family.js";
import type { ModelConfig } from "./modelConfig.js";
import type { LayerWidths } from "./partBytes.js";
import type { Linear, Norm, Wanted } from "./parts.js";

/** Half of a block: x ← closing(x + part(x)). */
export interface Half {
  /** @param shared - What all attention layers of the call have. */
  readonly part: <T>(x: T, on: Arithmetic<T>, shared: AttentionCall) => Eventually<T>;
  readonly closing: Norm;
}

/** A block: attention, then the feed-forward map. */
export interface Block {
  readonly attention: AttentionPart;
  readonly halves: readonly [attention: Half, feedForward: Half];
}

type Inner = Half["part"];

/** A block as the family describes it. */
export function blockOf(design: Design, layer: number): Block {
  const { family, config } = design;
  const at = `${family.blocks}.${layer}.`;
  const { norms, isFirstBare = false } = family.attention;
  const isBare = isFirstBare && layer === 0;
  const attention = attentionOf(design, { layer, numLayers: config.numLayers });
  const attend: Inner = (x, on, shared) => on.attend(attention, x, shared);
  return {
    attention,
    halves: [
      halfOf(design, at, { ...norms, before: isBare ? undefined : norms.before }, () => attend),
      halfOf(design, at, family.feedForward.norms, () => feedForwardOf(design, at)),
    ],
  };
}

type Names = { readonly [Name in keyof HalfNorms]: string | undefined };

function halfOf(design: Design, at: string, { before, after, closing }: Names, make: () => Inner): Half {
  const norm = (name: string | undefined) => normOf(design, name && at + name);
  const [first, inner, last] = [norm(before), make(), norm(after)];
  return { part: async (x, on, shared) => last(await inner(first(x, on), on, shared), on), closing: norm(closing) };
}

function feedForwardOf({ family, json, parts, config, activation, named }: Design, at: string): Linear {
  const { inputs, down, bias } = family.feedForward;
  const { modelDim, hiddenDim } = config;
  const hasBias = bias(json);
  const map = (name: string, from: number, to: number) =>
    parts.linear(named(at + name), { from, to }, hasBias, family.weightLayout);
  const inner = (): Linear => {
    if ("packed" in inputs) {
      const both = map(inputs.packed, modelDim, 2 * hiddenDim);
      return async (x, on) => {
        const [gate, up] = on.halves(await both(x, on));
        return on.multiply(on.activation(gate, activation), up);
      };
    }
    const gate = inputs.gate === undefined ? undefined : map(inputs.gate, modelDim, hiddenDim);
    const up = map(inputs.up, modelDim, hiddenDim);
    if (!gate) return async (x, on) => on.activation(await up(x, on), activation);
    return async (x, on) => {
      const gates = on.activation(await gate(x, on), activation);
      return on.multiply(gates, await up(x, on));
    };
  };
  const [into, out] = [inner(), map(down, hiddenDim, modelDim)];
  return async (x, on) => out(await into(x, on), on);
}

const NO_BIASES: Biases = { input: false, output: false };

function attentionOf(design: Design, place: LayerPlace): AttentionPart {
  const { family, json, parts, config, named } = design;
  const form = family.attention;
  const { epsilon, maxLength, headDim, numHeads, numKvHeads } = config;
  const block = `${family.blocks}.${place.layer}.`;
  const [scale, softcap, window] = [
    form.scale?.(json, place, headDim),
    form.softcap?.(json),
    form.window?.(json, place),
  ];
  const position = form.rotary?.(json, { maxLength, headDim }, place);
  const [queryGain, keyGain] = (form.headNorms ?? []).map((name) =>
    parts.vector(`${named(block + name)}.weight`, headDim, family.norm.plus),
  );
  const gains = () => ({ query: queryGain!().data, key: keyGain!().data });
  return parts.attention(
    // transformers names the layers of encoders without the prefix of models with a head
    `${family.isCausal ? block : block.slice(family.prefix.length)}${form.hook}`,
    weightsOf(design, form, named(block)),
    { maps: mapsOf(config), others: (queryGain ? 8 * headDim : 0) + factorBytes(position, headDim) },
    (): Omit<LayerOptions, "weights"> => ({
      numHeads,
      numKvHeads,
      modelDim: numHeads * headDim,
      ...(position && { position }),
      ...(queryGain && { qkNorm: { kind: "rms", epsilon, gain: gains() } }),
    }),
    {
      ...(family.isCausal && { causal: true }),
      ...(scale !== undefined && { scale }),
      ...(softcap !== undefined && { softcap }),
      ...(window && { window: { left: window - 1, ...(!family.isCausal && { right: window - 1 }) } }),
    },
  );
}

/** The widths of the maps of queries, keys, values and outputs. */
function mapsOf({ modelDim, numHeads, numKvHeads, headDim }: ModelConfig): LayerWidths["maps"] {
  const [queries, keys] = [numHeads * headDim, numKvHeads * headDim];
  const [query, key] = [queries, keys].map((out) => ({ in: modelDim, out }));
  return [query!, key!, key!, { in: queries, out: modelDim }];
}

/** Bytes of both lists of longrope's factors, which layers keep in double precision. */
function factorBytes(position: LayerPosition | undefined, headDim: number): number {
  if (position?.kind !== "rotary" || position.scaling?.kind !== "longrope") return 0;
  return 8 * (position.rotaryDim ?? headDim);
}

type WantedWeights = { readonly [Name in keyof LayerWeights]: Wanted };

/** The tensors of an attention layer, by the names of `LayerWeights`. */
function weightsOf({ family, json, config }: Design, form: AttentionForm, at: string): WantedWeights {
  const { modelDim, numHeads, numKvHeads, headDim } = config;
  const [queries, keys] = [numHeads * headDim, numKvHeads * headDim];
  const isInOut = family.weightLayout === "in-out";
  const biases = form.biases?.(json) ?? NO_BIASES;
  const map = (weight: string, bias: string, name: string, [from, to]: readonly number[], hasBias: boolean) => ({
    [weight]: [`${at}${name}.weight`, isInOut ? [from, to] : [to, from]],
    ...(hasBias && { [bias]: [`${at}${name}.bias`, [to]] }),
  });
  const inputs = () => {
    if ("packed" in form.inputs) {
      const { packed, by } = form.inputs;
      const [weight, bias] = isInOut ? ["Wqkv", "bqkv"] : ["in_proj_weight", "in_proj_bias"];
      const whole = map(weight, bias, packed, [modelDim, queries + 2 * keys], biases.input);
      if (by === "roles") return whole;
      const row = rowByRole(numHeads, headDim);
      return Object.fromEntries(Object.entries(whole).map(([key, wanted]) => [key, [...wanted, row]]));
    }
    const [query, key, value] = form.inputs;
    return {
      ...map("q_proj_weight", "bq", query, [modelDim, queries], biases.input),
      ...map("k_proj_weight", "bk", key, [modelDim, keys], biases.input),
      ...map("v_proj_weight", "bv", value, [modelDim, keys], biases.input),
    };
  };
  const [weight, bias] = isInOut ? ["Wo", "bo"] : ["out_proj.weight", "out_proj.bias"];
  return { ...inputs(), ...map(weight, bias, form.output, [queries, modelDim], biases.output) };
}

/** From rows of head 0's queries, keys and values, then head 1's, …, to all queries, all keys, all values. */
function rowByRole(numHeads: number, headDim: number): (row: number) => number {
  return (row) => {
    const [head, inHead] = [Math.floor(row / (3 * headDim)), row % (3 * headDim)];
    const [role, feature] = [Math.floor(inHead / headDim), inHead % headDim];
    return (role * numHeads + head) * headDim + feature;
  };
}
