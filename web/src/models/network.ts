import type { Arithmetic } from "./arithmetic.js";
import { blockOf, type Half } from "./blocks.js";
import type { Json } from "./configField.js";
import { designOf, normOf } from "./design.js";
import { distanceBiasOf } from "./distances.js";
import { embeddingsOf, type EmbeddingTable } from "./embeddings.js";
import { headsOf, type HeadParts } from "./heads.js";
import type { ModelConfig, ModelType } from "./modelConfig.js";
import type { AttentionCall, AttentionPart } from "./attentionPart.js";
import type { Parts } from "./parts.js";
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
  /** The tables of embeddings. */
  readonly tables: readonly EmbeddingTable[];
  /** Whether layers have a bias that follows the length of the text. */
  readonly hasDistances: boolean;
  /**
   * From the rows of each table, `[…, S, modelDim]`, to the last hidden state.
   *
   * @param length - S
   */
  readonly hidden: <T>(rows: readonly T[], length: number, on: Arithmetic<T>) => Promise<T>;
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
    tables: embeddings.tables,
    hasDistances: distanceBias !== undefined,
    ...headsOf(design, embeddings.words),
    async hidden(rows, length, on) {
      let x = embeddings.joined(rows, on);
      const shared: AttentionCall = distanceBias ? { bias: distanceBias(length) } : {};
      for (const { halves } of blocks) {
        on.note(x);
        const [attention, feedForward] = halves;
        const sum = on.add(x, await attention.part(x, on, shared));
        x = isParallel
          ? on.add(sum, await feedForward.part(x, on, shared))
          : await closed(feedForward, attention.closing(sum, on), on, shared);
      }
      return on.note(lastNorm(x, on));
    },
  };
}

async function closed<T>({ part, closing }: Half, x: T, on: Arithmetic<T>, shared: AttentionCall): Promise<T> {
  return closing(on.add(x, await part(x, on, shared)), on);
}
