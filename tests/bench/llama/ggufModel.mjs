// A Llama with random weights as a GGUF file: matrices as Q8_0, gains of norms as float32.

import { ALIGNMENT, ggufFile } from "./gguf.mjs";
import { numbersOf, tensorsOf } from "./tensors.mjs";

const MOSTLY_Q8 = 7;
/** The kinds of tokens. */
const [NORMAL, UNKNOWN, CONTROL, BYTE] = [1, 2, 3, 6];

export function ggufModel(shape) {
  const tensors = tensorsOf(shape).map((tensor) => ({
    ...{ name: tensor.gguf, shape: tensor.shape, form: tensor.shape.length === 1 ? "float32" : "q8" },
    numbers: () => inPairs(numbersOf(tensor), tensor),
  }));
  return ggufFile({ ...architecture(shape), ...vocabulary(shape.vocabulary) }, tensors);
}

function architecture({ width, heads, kvHeads, dim, hidden, layers, vocabulary, epsilon, base, length }) {
  return {
    "general.architecture": ["string", "llama"],
    "general.name": ["string", "random"],
    "general.alignment": ["uint32", ALIGNMENT],
    "general.file_type": ["uint32", MOSTLY_Q8],
    "general.quantization_version": ["uint32", 2],
    "llama.vocab_size": ["uint32", vocabulary],
    "llama.context_length": ["uint32", length],
    "llama.embedding_length": ["uint32", width],
    "llama.block_count": ["uint32", layers],
    "llama.feed_forward_length": ["uint32", hidden],
    "llama.attention.head_count": ["uint32", heads],
    "llama.attention.head_count_kv": ["uint32", kvHeads],
    "llama.attention.layer_norm_rms_epsilon": ["float32", epsilon],
    "llama.rope.dimension_count": ["uint32", dim],
    "llama.rope.freq_base": ["float32", base],
  };
}

/** Tokens that stand for no text. Those of the bytes follow. */
const SPECIAL = ["<unk>", "<s>", "</s>"];

/** Larger bytes have no token: a text of them would not be UTF-8, and llama.cpp could not return it. */
const ASCII = 128;

/** The tokens of a text of ASCII in which no word of the vocabulary is found. */
export const byteTokens = (text) => Array.from(new TextEncoder().encode(text), (byte) => SPECIAL.length + byte);

/** As many tokens as the model has: the special ones, the bytes of ASCII, and words that no text has. */
function vocabulary(count) {
  const bytes = Array.from({ length: ASCII }, (_, n) => `<0x${n.toString(16).toUpperCase().padStart(2, "0")}>`);
  const words = Array.from({ length: count - SPECIAL.length - bytes.length }, (_, n) => `<word ${n}>`);
  const kinds = [UNKNOWN, CONTROL, CONTROL, ...bytes.map(() => BYTE), ...words.map(() => NORMAL)];
  return {
    "tokenizer.ggml.model": ["string", "llama"],
    "tokenizer.ggml.tokens": ["string", [...SPECIAL, ...bytes, ...words]],
    "tokenizer.ggml.scores": ["float32", kinds.map((kind, n) => (kind === NORMAL ? -n : 0))],
    "tokenizer.ggml.token_type": ["int32", kinds],
    "tokenizer.ggml.unknown_token_id": ["uint32", 0],
    "tokenizer.ggml.bos_token_id": ["uint32", 1],
    "tokenizer.ggml.eos_token_id": ["uint32", 2],
    "tokenizer.ggml.add_bos_token": ["bool", false],
    "tokenizer.ggml.add_eos_token": ["bool", false],
    "tokenizer.ggml.add_space_prefix": ["bool", false],
  };
}

/**
 * The rows of queries and keys in llama.cpp's order. Its Llama turns neighbouring rows of a head together, that of
 * transformers rows that are half a head apart.
 */
function inPairs(numbers, { shape: [rows, width], turned }) {
  if (!turned) return numbers;
  const [dim, ordered] = [rows / turned, new Float32Array(numbers.length)];
  for (let row = 0; row < rows; row++) {
    const [first, n] = [row - (row % dim), row % dim];
    const from = first + (n % 2) * (dim / 2) + Math.floor(n / 2);
    ordered.set(numbers.subarray(from * width, (from + 1) * width), row * width);
  }
  return ordered;
}
