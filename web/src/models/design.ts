import type { StepActivation } from "../step/stepProblem.js";
import { ACTIVATIONS } from "./activations.js";
import type { Json } from "./configField.js";
import { FAMILIES } from "./families.js";
import { stopTokens, type Family } from "./family.js";
import {
  labelClassOf,
  labelsOf,
  refuseOtherClasses,
  type LabelClass,
  type ModelConfig,
  type ModelType,
} from "./modelConfig.js";
import type { Norm, Parts } from "./parts.js";

/** What the parts of a network are made from. */
export interface Design {
  readonly family: Family;
  readonly json: Json;
  readonly parts: Parts;
  readonly config: ModelConfig;
  /** Whether the scores are those of the table of words. */
  readonly isTied: boolean;
  readonly labelClass: LabelClass | undefined;
  readonly activation: StepActivation;
  /** The name in the files: without the family's prefix if they lack it. */
  readonly named: (name: string) => string;
}

/** Reads the fields that every family has. */
export function designOf(modelType: ModelType, json: Json, parts: Parts): Design {
  const family = FAMILIES[modelType];
  const { fields, prefix } = family;
  const modelDim = fields.modelDim(json);
  const numHeads = fields.numHeads(json);
  const activation = fields.activation(json);
  refuseOtherClasses(json, family);
  const labelClass = labelClassOf(json, family);
  const config: ModelConfig = {
    modelType,
    vocabSize: fields.vocabSize(json),
    modelDim,
    hiddenDim: fields.hiddenDim(json) ?? 4 * modelDim,
    numLayers: fields.numLayers(json),
    numHeads,
    numKvHeads: fields.numKvHeads?.(json) ?? numHeads,
    headDim: fields.headDim?.(json) ?? modelDim / numHeads,
    maxLength: fields.maxLength(json),
    activation,
    epsilon: fields.epsilon(json),
    stopTokens: (fields.stopTokens ?? stopTokens())(json),
    labels: labelClass ? labelsOf(json) : [],
  };
  family.fixed.forEach((read) => read(json));
  const at = parts.prefix(prefix);
  return {
    family,
    json,
    parts,
    config,
    isTied: fields.isTied(json),
    labelClass,
    activation: ACTIVATIONS[activation],
    named: (name) => (name.startsWith(prefix) ? at + name.slice(prefix.length) : name),
  };
}

/** A norm of the family's kind; without a name nothing changes. */
export function normOf({ family, json, parts, config, named }: Design, name: string | undefined): Norm {
  if (name === undefined) return (x) => x;
  const { kind, bias, plus } = family.norm;
  const { modelDim, epsilon } = config;
  return kind === "rms"
    ? parts.rmsNorm(named(name), modelDim, epsilon, plus)
    : parts.layerNorm(named(name), modelDim, epsilon, bias?.(json) ?? true);
}
