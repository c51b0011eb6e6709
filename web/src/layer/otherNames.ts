import { HEADS, NO_ENGINE_HERE, WITHOUT, type OtherName } from "../read/otherNames.js";

const DROPOUT_OF_FORWARD = "give it to forward: dropout: { rate, seed }";

/** Names for multiHeadAttention. */
export const LAYER_OTHERS: readonly OtherName[] = [
  ...HEADS,
  ["embed_dim", "modelDim", "The width of x, inputDim, may differ from it here."],
  ["hidden_size", "inputDim", "The width of all heads together is modelDim."],
  ["d_model", "inputDim", "The width of all heads together is modelDim."],
  ["n_embd", "inputDim", "The width of all heads together is modelDim."],
  ["qkv_features", "modelDim"],
  ["head_dim", "modelDim", "It is numHeads times the width of a head."],
  ["key_dim", "modelDim", "It is numHeads times the width of a head."],
  ["value_dim", "valueHeadDim"],
  ["v_head_dim", "valueHeadDim"],
  ["kdim", "keyInputDim"],
  ["vdim", "valueInputDim"],
  ["in_features", "inputDim"],
  ["out_features", "outputDim"],
  ["output_shape", "outputDim"],
  ["use_bias", "bias"],
  ["attention_bias", "bias"],
  [
    "batch_first",
    "layout",
    'layout: "BSE" has the batch first. batch_first=False, [S, B, E], is not offered: swap the first two axes.',
  ],
  ["add_bias_kv", WITHOUT, "a learned extra key is not offered: append it to the contexts key and value"],
  ["add_zero_attn", WITHOUT, "give forward a sink of 0 for each head: sinks"],
  ["dropout", WITHOUT, DROPOUT_OF_FORWARD],
  ["dropout_p", WITHOUT, DROPOUT_OF_FORWARD],
  ["dropout_rate", WITHOUT, DROPOUT_OF_FORWARD],
  ["attention_dropout", WITHOUT, DROPOUT_OF_FORWARD],
  ["attention_axes", WITHOUT, "positions are one axis: reshape x"],
  ["attn_implementation", WITHOUT, NO_ENGINE_HERE],
  ["rope_theta", "position", 'It is position: { kind: "rotary", base }.'],
  ["rope_scaling", "position", 'It is position: { kind: "rotary", scaling }.'],
  ["partial_rotary_factor", "position", 'It is position: { kind: "rotary", rotaryDim }.'],
  ["do_rotary", "position", 'It is position: { kind: "rotary" }.'],
  ["use_qk_norm", "qkNorm"],
];

const STORED_OUT_IN = "It is stored [out, in], as there.";

/** Names for the weights of a layer. */
export const WEIGHT_OTHERS: readonly OtherName[] = [
  ["query.weight", "q_proj_weight", STORED_OUT_IN],
  ["key.weight", "k_proj_weight", STORED_OUT_IN],
  ["value.weight", "v_proj_weight", STORED_OUT_IN],
  ["q_proj.bias", "bq"],
  ["k_proj.bias", "bk"],
  ["v_proj.bias", "bv"],
  ["query.bias", "bq"],
  ["key.bias", "bk"],
  ["value.bias", "bv"],
  ["o_proj.weight", "out_proj.weight", STORED_OUT_IN],
  ["o_proj.bias", "out_proj.bias"],
  ["proj.weight", "out_proj.weight", STORED_OUT_IN],
  ["proj.bias", "out_proj.bias"],
  ["qkv.weight", "in_proj_weight", STORED_OUT_IN],
  ["qkv.bias", "in_proj_bias"],
  ["c_attn.weight", "Wqkv", "It is stored [in, out], as there."],
  ["c_attn.bias", "bqkv"],
  ["c_proj.weight", "Wo", "It is stored [in, out], as there."],
  ["c_proj.bias", "bo"],
];

/** Names for qkNorm. */
export const NORM_OTHERS: readonly OtherName[] = [
  ["eps", "epsilon"],
  ["weight", "gain"],
];
