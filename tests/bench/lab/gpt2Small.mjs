// The files of a model of GPT-2 small's shape (124 million parameters with 12 layers) and random weights.

const [WIDTH, HEADS, VOCABULARY, LENGTH] = [768, 12, 50257, 1024];

/** The content of config.json. */
export const configOf = (layers) => ({
  ...{ model_type: "gpt2", vocab_size: VOCABULARY, n_embd: WIDTH, n_layer: layers, n_head: HEADS },
  ...{ n_positions: LENGTH, activation_function: "gelu_new", layer_norm_epsilon: 1e-5, eos_token_id: null },
});

/** The shapes of all tensors, by the names of the files. */
function shapesOf(layers) {
  const norm = (name) => ({ [`${name}.weight`]: [WIDTH], [`${name}.bias`]: [WIDTH] });
  const product = (name, from, to) => ({ [`${name}.weight`]: [from, to], [`${name}.bias`]: [to] });
  const block = (n) => ({
    ...norm(`h.${n}.ln_1`),
    ...product(`h.${n}.attn.c_attn`, WIDTH, 3 * WIDTH),
    ...product(`h.${n}.attn.c_proj`, WIDTH, WIDTH),
    ...norm(`h.${n}.ln_2`),
    ...product(`h.${n}.mlp.c_fc`, WIDTH, 4 * WIDTH),
    ...product(`h.${n}.mlp.c_proj`, 4 * WIDTH, WIDTH),
  });
  const blocks = Array.from({ length: layers }, (_, n) => block(n));
  const ends = { "wte.weight": [VOCABULARY, WIDTH], "wpe.weight": [LENGTH, WIDTH], ...norm("ln_f") };
  return Object.assign(ends, ...blocks);
}

/** Bytes of a number, and small ones as 32 bits: ± 2 ** -7, and a little more. */
const FORMS = {
  BF16: { size: 2, word: (random) => (random & 0x807f807f) | 0x3c003c00 },
  F16: { size: 2, word: (random) => (random & 0x83ff83ff) | 0x20002000 },
  F32: { size: 4, word: (random) => (random & 0x807fffff) | 0x3c000000 },
};

/** A .safetensors file of small random numbers. */
export function randomFile(dtype, layers) {
  const { size, word } = FORMS[dtype];
  let offset = 0;
  const header = {};
  for (const [name, shape] of Object.entries(shapesOf(layers))) {
    const bytes = size * shape.reduce((product, extent) => product * extent, 1);
    header[name] = { dtype, shape, data_offsets: [offset, (offset += bytes)] };
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const start = Math.ceil((8 + json.length) / 8) * 8;
  const file = new Uint8Array(start + offset).fill(0x20, 8, start);
  new DataView(file.buffer).setBigUint64(0, BigInt(start - 8), true);
  file.set(json, 8);
  const words = new Uint32Array(file.buffer, start);
  let state = 1;
  for (let n = 0; n < words.length; n++) {
    state = Math.imul(state ^ (state >>> 15), 1664525) + 1013904223;
    words[n] = word(state);
  }
  return file;
}
