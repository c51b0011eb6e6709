import { ACTIVATION_NAMES, ACTIVATIONS, tanh } from "./activations.js";
import { count, flag, only, positive, readFields, word, type Json, MOST_BLOCKS } from "./configField.js";
import { add, tokenAt } from "./elementwise.js";
import { COMMON, headOf, modelConfig } from "./modelConfig.js";
import { positionsOf, type Network } from "./network.js";
import type { Linear, Parts } from "./parts.js";
import { times } from "./times.js";

const FIELDS = {
  ...COMMON,
  vocabSize: count("vocab_size"),
  modelDim: count("hidden_size"),
  hiddenDim: count("intermediate_size"),
  numLayers: count("num_hidden_layers", undefined, MOST_BLOCKS),
  numHeads: count("num_attention_heads"),
  maxLength: count("max_position_embeddings", 512),
  numTokenTypes: count("type_vocab_size", 2),
  activation: word("hidden_act", ACTIVATION_NAMES, "gelu"),
  epsilon: positive("layer_norm_eps", 1e-12),
  isTied: flag("tie_word_embeddings", true),
  positions: only("position_embedding_type", "absolute"),
  decoder: only("is_decoder", false),
  head: headOf(["Model", "ForMaskedLM", "ForPreTraining", "LMHeadModel"]),
  causal: only("is_causal", false),
};

/**
 * BERT (Devlin et al. 2018, arXiv:1810.04805): learned positions, kinds of tokens, norms after attention and feed-forward
 * blocks, attention to all tokens.
 *
 *     x ← norm₁(x + attention(x))
 *     x ← norm₂(x + down(activation(up(x))))
 */
export function bert(json: Json, parts: Parts): Network {
  const fields = readFields(json, FIELDS);
  const { modelDim, hiddenDim, numHeads, vocabSize, epsilon, maxLength, numTokenTypes } = fields;
  const config = modelConfig({ ...fields, modelType: "bert", numKvHeads: numHeads, headDim: modelDim / numHeads });
  const activation = ACTIVATIONS[fields.activation];
  const across = { from: modelDim, to: modelDim };

  const at = parts.prefix("bert.");
  const words = parts.table(`${at}embeddings.word_embeddings`, [vocabSize, modelDim]);
  const places = parts.table(`${at}embeddings.position_embeddings`, [maxLength, modelDim]);
  const kinds = parts.table(`${at}embeddings.token_type_embeddings`, [numTokenTypes, modelDim]);
  const norm = parts.layerNorm(`${at}embeddings.LayerNorm`, modelDim, epsilon);
  const blocks = times(fields.numLayers, (n) => {
    const block = `${at}encoder.layer.${n}`;
    const self = `${block}.attention.self`;
    const square = [modelDim, modelDim];
    return {
      attention: parts.attention(
        `encoder.layer.${n}.attention`,
        {
          q_proj_weight: [`${self}.query.weight`, square],
          bq: [`${self}.query.bias`, [modelDim]],
          k_proj_weight: [`${self}.key.weight`, square],
          bk: [`${self}.key.bias`, [modelDim]],
          v_proj_weight: [`${self}.value.weight`, square],
          bv: [`${self}.value.bias`, [modelDim]],
          "out_proj.weight": [`${block}.attention.output.dense.weight`, square],
          "out_proj.bias": [`${block}.attention.output.dense.bias`, [modelDim]],
        },
        () => ({ numHeads }),
        {},
      ),
      norm1: parts.layerNorm(`${block}.attention.output.LayerNorm`, modelDim, epsilon),
      up: parts.linear(`${block}.intermediate.dense`, { from: modelDim, to: hiddenDim }, true),
      down: parts.linear(`${block}.output.dense`, { from: hiddenDim, to: modelDim }, true),
      norm2: parts.layerNorm(`${block}.output.LayerNorm`, modelDim, epsilon),
    };
  });

  /** The row of the first token, through a linear map and tanh. */
  const pooler = (): Linear => {
    const dense = parts.linear(`${at}pooler.dense`, across, true);
    return async (x) => tanh(await dense(tokenAt(x, 0)));
  };

  /** The head for hidden words. */
  const wordHead = (): Linear => {
    const head = "cls.predictions";
    const dense = parts.linear(`${head}.transform.dense`, across, true);
    const headNorm = parts.layerNorm(`${head}.transform.LayerNorm`, modelDim, epsilon);
    const decoder = `${head}.decoder`;
    const bias = parts.vector(parts.has(`${head}.bias`) ? `${head}.bias` : `${decoder}.bias`, vocabSize);
    const scores = fields.isTied
      ? words.transposed(bias)
      : parts.linear(decoder, { from: modelDim, to: vocabSize }, bias);
    return async (x) => scores(headNorm(activation(await dense(x))));
  };

  return {
    config,
    attention: blocks.map(({ attention }) => attention),
    isCausal: false,
    numTokenTypes,
    limit: maxLength,
    logits: parts.has("cls.predictions.transform.dense.weight") ? wordHead() : undefined,
    pooled: parts.has(`${at}pooler.dense.weight`) ? pooler() : undefined,
    async hidden(tokens, pass) {
      const { shape } = tokens;
      const types = tokens.tokenTypes ?? { data: new Int32Array(tokens.data.length), shape };
      let x = norm(add(add(words.rows(tokens), kinds.rows(types)), places.rows(positionsOf(tokens, 0))));
      for (const { attention, norm1, up, down, norm2 } of blocks) {
        pass.note(x);
        x = norm1(add(x, await pass.attend(attention, x)));
        x = norm2(add(x, await down(activation(await up(x)))));
      }
      return pass.note(x);
    },
  };
}
