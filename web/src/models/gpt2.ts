import { ACTIVATION_NAMES, ACTIVATIONS } from "./activations.js";
import { count, flag, only, optional, positive, readFields, word, type Json, MOST_BLOCKS } from "./configField.js";
import { add } from "./elementwise.js";
import { COMMON, DECODER_HEADS, headOf, modelConfig } from "./modelConfig.js";
import { positionsOf, type Network } from "./network.js";
import type { Parts } from "./parts.js";
import { times } from "./times.js";

const FIELDS = {
  ...COMMON,
  vocabSize: count("vocab_size"),
  modelDim: count("n_embd"),
  innerDim: optional("n_inner", count("n_inner")),
  numLayers: count("n_layer", undefined, MOST_BLOCKS),
  numHeads: count("n_head"),
  maxLength: count("n_positions", 1024),
  activation: word("activation_function", ACTIVATION_NAMES, "gelu_new"),
  epsilon: positive("layer_norm_epsilon", 1e-5),
  isScaled: flag("scale_attn_weights", true),
  isScaledByLayer: flag("scale_attn_by_inverse_layer_idx", false),
  isTied: flag("tie_word_embeddings", true),
  head: headOf(DECODER_HEADS),
  causal: only("is_causal", true),
};

/**
 * GPT-2 (Radford et al. 2019): learned positions, norms before attention and feed-forward blocks, causal attention.
 *
 *     x ← x + attention(norm₁(x))
 *     x ← x + down(activation(up(norm₂(x))))
 */
export function gpt2(json: Json, parts: Parts): Network {
  const fields = readFields(json, FIELDS);
  const { modelDim, numHeads, innerDim = 4 * modelDim, vocabSize, epsilon, maxLength } = fields;
  const headDim = modelDim / numHeads;
  const config = modelConfig({ ...fields, modelType: "gpt2", hiddenDim: innerDim, numKvHeads: numHeads, headDim });

  const at = parts.prefix("transformer.");
  const words = parts.table(`${at}wte`, [vocabSize, modelDim]);
  const places = parts.table(`${at}wpe`, [maxLength, modelDim]);
  const blocks = times(fields.numLayers, (n) => {
    const scale = (fields.isScaled ? 1 / Math.sqrt(headDim) : 1) / (fields.isScaledByLayer ? n + 1 : 1);
    const block = `${at}h.${n}`;
    return {
      norm1: parts.layerNorm(`${block}.ln_1`, modelDim, epsilon),
      attention: parts.attention(
        `transformer.h.${n}.attn`,
        {
          Wqkv: [`${block}.attn.c_attn.weight`, [modelDim, 3 * modelDim]],
          bqkv: [`${block}.attn.c_attn.bias`, [3 * modelDim]],
          Wo: [`${block}.attn.c_proj.weight`, [modelDim, modelDim]],
          bo: [`${block}.attn.c_proj.bias`, [modelDim]],
        },
        () => ({ numHeads }),
        { causal: true, scale },
      ),
      norm2: parts.layerNorm(`${block}.ln_2`, modelDim, epsilon),
      up: parts.conv1d(`${block}.mlp.c_fc`, { from: modelDim, to: innerDim }),
      down: parts.conv1d(`${block}.mlp.c_proj`, { from: innerDim, to: modelDim }),
    };
  });
  const norm = parts.layerNorm(`${at}ln_f`, modelDim, epsilon);
  const logits = fields.isTied ? words.transposed() : parts.linearIfThere("lm_head", { from: modelDim, to: vocabSize });
  const activation = ACTIVATIONS[fields.activation];

  return {
    config,
    attention: blocks.map(({ attention }) => attention),
    isCausal: true,
    limit: maxLength,
    logits,
    async hidden(tokens, pass) {
      let x = add(words.rows(tokens), places.rows(positionsOf(tokens, pass.start)));
      for (const { norm1, attention, norm2, up, down } of blocks) {
        pass.note(x);
        x = add(x, await pass.attend(attention, norm1(x)));
        x = add(x, await down(activation(await up(norm2(x)))));
      }
      return pass.note(norm(x));
    },
  };
}
