import type { Floats } from "../tensor/plainTensor.js";
import { blockOf, type Half } from "./blocks.js";
import type { Json } from "./configField.js";
import { designOf, normOf } from "./design.js";
import { distanceBiasOf } from "./distances.js";
import { add } from "./elementwise.js";
import { embeddingsOf } from "./embeddings.js";
import { headsOf, type HeadParts } from "./heads.js";
import type { ModelConfig, ModelType } from "./modelConfig.js";
import type { ModelInput } from "./modelInput.js";
import type { AttentionCall, AttentionPart, Parts } from "./parts.js";
import type { Pass } from "./pass.js";
import { longestOf } from "./rotaryField.js";
import { times } from "./times.js";

/** A model of some family. */
export interface Network extends HeadParts {
  readonly config: ModelConfig;
  /** The attention layers, from the first to the last. */
  readonly attention: readonly AttentionPart[];
  /** Whether it predicts the next token, and not hidden ones. */
  readonly isCausal: boolean;
  /** How many kinds of tokens there are; undefined: it does not use kinds. */
  readonly numTokenTypes: number | undefined;
  /** The longest text that it can read; undefined: no limit. */
  readonly limit: number | undefined;
  /** From tokens `[…, S]` to the last hidden state `[…, S, modelDim]`. */
  readonly hidden: (input: ModelInput, pass: Pass) => Promise<Floats>;
}

/**
 * The network that a family describes: embeddings, then blocks of two halves, a norm, and heads.
 *
 *     x ← closing₁(x + after₁(attention(before₁(x))))
 *     x ← closing₂(x + after₂(feedForward(before₂(x))))
 */
export function networkOf(modelType: ModelType, json: Json, parts: Parts): Network {
  const design = designOf(modelType, json, parts);
  const { family, config } = design;
  const embeddings = embeddingsOf(design);
  const distanceBias = distanceBiasOf(design);
  const blocks = times(config.numLayers, (layer) => blockOf(design, layer));
  const lastNorm = normOf(design, family.lastNorm);
  const isParallel = family.isParallel?.(json) ?? false;
  const { maxLength, headDim } = config;
  const rotary = family.attention.rotary?.(json, { maxLength, headDim }, { layer: 0, numLayers: config.numLayers });
  const limit = embeddings.limit ?? (rotary && longestOf(rotary));
  return {
    config: { ...config, maxLength: limit ?? maxLength },
    attention: blocks.map(({ attention }) => attention),
    isCausal: family.isCausal,
    numTokenTypes: embeddings.numTokenTypes,
    limit,
    ...headsOf(design, embeddings.words),
    async hidden(input, pass) {
      let x = embeddings.rows(input, pass.start);
      const shared: AttentionCall = distanceBias ? { bias: distanceBias(input.shape.at(-1)!) } : {};
      for (const { halves } of blocks) {
        pass.note(x);
        const [attention, feedForward] = halves;
        const sum = add(x, await attention.part(x, pass, shared));
        x = isParallel
          ? add(sum, await feedForward.part(x, pass, shared))
          : await closed(feedForward, attention.closing(sum), pass, shared);
      }
      return pass.note(lastNorm(x));
    },
  };
}

async function closed({ part, closing }: Half, x: Floats, pass: Pass, shared: AttentionCall): Promise<Floats> {
  return closing(add(x, await part(x, pass, shared)));
}
