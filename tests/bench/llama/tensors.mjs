// The tensors of a Llama with random weights: their names in both files, their shapes, and their numbers.

/** Numbers are multiples of this, up to 1024 times: float16 holds them exactly. */
const STEP = 2 ** -14;

/**
 * All tensors of a shape. `name` is that of transformers, `gguf` that of llama.cpp; `turned`: the heads of a matrix whose
 * rows turn with the position.
 */
export function tensorsOf({ width, heads, kvHeads, dim, hidden, layers, vocabulary }) {
  const block = (n) => {
    const [at, blk] = [`model.layers.${n}`, `blk.${n}`];
    return [
      gain(`${at}.input_layernorm`, `${blk}.attn_norm`, width),
      { ...matrix(`${at}.self_attn.q_proj`, `${blk}.attn_q`, width, heads * dim), turned: heads },
      { ...matrix(`${at}.self_attn.k_proj`, `${blk}.attn_k`, width, kvHeads * dim), turned: kvHeads },
      matrix(`${at}.self_attn.v_proj`, `${blk}.attn_v`, width, kvHeads * dim),
      matrix(`${at}.self_attn.o_proj`, `${blk}.attn_output`, heads * dim, width),
      gain(`${at}.post_attention_layernorm`, `${blk}.ffn_norm`, width),
      matrix(`${at}.mlp.gate_proj`, `${blk}.ffn_gate`, width, hidden),
      matrix(`${at}.mlp.up_proj`, `${blk}.ffn_up`, width, hidden),
      matrix(`${at}.mlp.down_proj`, `${blk}.ffn_down`, hidden, width),
    ];
  };
  const all = [
    matrix("model.embed_tokens", "token_embd", width, vocabulary),
    ...Array.from({ length: layers }, (_, n) => block(n)).flat(),
    gain("model.norm", "output_norm", width),
    matrix("lm_head", "output", width, vocabulary),
  ];
  return all.map((tensor, n) => ({ ...tensor, seed: n + 1 }));
}

const gain = (name, gguf, width) => ({ name: `${name}.weight`, gguf: `${gguf}.weight`, shape: [width] });
const matrix = (name, gguf, from, to) => ({ name: `${name}.weight`, gguf: `${gguf}.weight`, shape: [to, from] });

export const sizeOf = (shape) => shape.reduce((product, extent) => product * extent, 1);

/** How many weights a shape has. */
export const countOf = (shape) => tensorsOf(shape).reduce((sum, tensor) => sum + sizeOf(tensor.shape), 0);

/** The numbers of a tensor, the same in each call. The gains of norms are 1. */
export function numbersOf({ shape, seed }) {
  const numbers = new Float32Array(sizeOf(shape));
  if (shape.length === 1) return numbers.fill(1);
  let state = Math.imul(seed, 0x9e3779b1);
  for (let n = 0; n < numbers.length; n++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    numbers[n] = (state >> 21) * STEP;
  }
  return numbers;
}
