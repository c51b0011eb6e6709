// The shapes of Llama that the bench measures, by their millions of weights. All rows are multiples of 32 long, as Q8_0
// needs it.

const DIM = 64;
const [EPSILON, BASE, LENGTH] = [1e-5, 10000, 2048];

const shape = (width, heads, kvHeads, hidden, layers, vocabulary) => ({
  ...{ width, heads, kvHeads, dim: DIM, hidden, layers, vocabulary },
  ...{ epsilon: EPSILON, base: BASE, length: LENGTH },
});

export const SHAPES = { 30: shape(512, 8, 4, 1408, 9, 4096), 120: shape(768, 12, 4, 2048, 15, 16384) };

/** The content of config.json. */
export const configOf = ({ width, heads, kvHeads, dim, hidden, layers, vocabulary, epsilon, base, length }) => ({
  ...{ model_type: "llama", vocab_size: vocabulary, hidden_size: width, intermediate_size: hidden },
  ...{ num_hidden_layers: layers, num_attention_heads: heads, num_key_value_heads: kvHeads, head_dim: dim },
  ...{ max_position_embeddings: length, hidden_act: "silu", rms_norm_eps: epsilon, rope_theta: base },
  ...{ tie_word_embeddings: false, eos_token_id: null },
});

/** "width 512, 8 heads of 64 (4 for keys), hidden 1408, 9 layers, vocabulary 4096" */
export const describe = ({ width, heads, kvHeads, dim, hidden, layers, vocabulary }) =>
  `width ${width}, ${heads} heads of ${dim} (${kvHeads} for keys), hidden ${hidden}, ${layers} layers, ` +
  `vocabulary ${vocabulary}`;
