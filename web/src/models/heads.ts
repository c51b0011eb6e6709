import type { Floats } from "../tensor/plainTensor.js";
import type { Eventually } from "../turn/context.js";
import type { Arithmetic } from "./arithmetic.js";
import { normOf, type Design } from "./design.js";
import { tokenAt } from "./elementwise.js";
import type { Dense, LabelHead } from "./family.js";
import { hasWordHead } from "./modelConfig.js";
import type { ModelInput } from "./modelInput.js";
import type { Linear, Table } from "./parts.js";
import { pooledBy } from "./pooling.js";

/** What the files have after the last hidden state `[…, S, modelDim]`. */
export interface HeadParts {
  /** From hidden states `[…, modelDim]` to scores of tokens or, for a classifier of tokens, of labels. */
  readonly logits: Linear | undefined;
  /** From the last hidden state to one row for each text. */
  readonly pooled: ((last: Floats, on: Arithmetic<Floats>) => Eventually<Floats>) | undefined;
  /** From the last hidden state to scores of labels for each text. */
  readonly labels: TextMap | undefined;
}

/** From the last hidden state `[…, S, modelDim]` to one row for each text. */
export type TextMap = (last: Floats, input: ModelInput, on: Arithmetic<Floats>) => Eventually<Floats>;

export function headsOf(design: Design, words: Table): HeadParts {
  const { family, labelClass, parts, named } = design;
  const { pooler, sequence, tokens } = family.heads;
  const hasPooler = pooler !== undefined && parts.has(`${named(pooler)}.weight`);
  const ofTokens = labelClass === "tokens" ? tokens! : undefined;
  return {
    logits: labelClass === undefined ? wordHead(design, words) : ofTokens && labelHead(design, ofTokens),
    pooled: hasPooler ? poolerOf(design, pooler) : undefined,
    labels: labelClass === "sequence" ? textHead(design, sequence!) : undefined,
  };
}

function poolerOf(design: Design, name: string): HeadParts["pooled"] {
  const dense = denseOf(design, { name, activation: "tanh" });
  return (last, on) => dense(tokenAt(last, 0), on);
}

function denseOf({ json, parts, config, activation, named }: Design, { name, bias, ...of }: Dense): Linear {
  const { modelDim } = config;
  const map = parts.linear(named(name), { from: modelDim, to: modelDim }, bias?.(json) ?? true);
  return async (x, on) => on.activation(await map(x, on), of.activation ?? activation);
}

/** Scores of tokens; undefined if the files have no head. Without any weights config.json decides. */
function wordHead(design: Design, words: Table): Linear | undefined {
  const { family, json, parts, config, isTied, named } = design;
  const head = family.heads.words;
  if (!head) return undefined;
  const { dense, decoder } = head;
  const first = dense ? dense.name : isTied ? undefined : decoder;
  const isThere = (name: string) => (parts.knowsNames ? parts.has(`${named(name)}.weight`) : hasWordHead(json));
  if (first !== undefined && !isThere(first)) return undefined;
  const transform = dense && denseOf(design, dense);
  const norm = normOf(design, head.norm);
  const bias = head.bias && (parts.has(head.bias) ? head.bias : `${decoder}.bias`);
  const shift = bias ? parts.vector(bias, config.vocabSize) : undefined;
  const widths = { from: config.modelDim, to: config.vocabSize };
  if (isTied) parts.sameTable(named(family.embeddings.words), named(decoder));
  const scores = isTied ? words.transposed(shift) : parts.linear(named(decoder), widths, shift ?? false);
  const softcap = head.softcap?.(json);
  return async (x, on) => {
    const y = await scores(norm(transform ? await transform(x, on) : x, on), on);
    return softcap === undefined ? y : on.softcapped(y, softcap);
  };
}

/** Scores of labels. */
function labelHead(design: Design, { dense, norm, decoder }: LabelHead): Linear {
  const { parts, config, named } = design;
  const transform = dense && denseOf(design, dense);
  const middle = normOf(design, norm);
  const scores = parts.linear(named(decoder), { from: config.modelDim, to: config.labels.length }, true);
  return async (x, on) => scores(middle(transform ? await transform(x, on) : x, on), on);
}

function textHead(design: Design, head: LabelHead): TextMap {
  const scores = labelHead(design, head);
  const mode = head.pooling?.(design.json) ?? "cls";
  // the first token counts here also if it fills up, as in transformers
  return (last, input, on) => scores(mode === "cls" ? tokenAt(last, 0) : pooledBy(mode, last, input), on);
}
