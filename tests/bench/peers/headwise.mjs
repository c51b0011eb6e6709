// headwise itself, through its public API. Every case has an instance of its own, with a module that V8 has not seen.
// So its first call includes compilation, and its memory holds only this case.

import { packHeads } from "../harness/problem.mjs";

export async function openHeadwise({ variant, threads, locate, read, isNode }) {
  const { createAttention } = await import(locate(isNode ? "dist/index.node.js" : "dist/index.js"));
  const wasm = await read(locate(`dist/wasm/headwise.${variant}.wasm`));
  return {
    async prepare(problem) {
      const start = performance.now();
      const source = { backend: "wasm", variant, threads, wasm: { binary: withStamp(wasm) } };
      const hw = await createAttention(source);
      const initMilliseconds = performance.now() - start;
      if (hw.report.threads !== threads) throw new Error(`${hw.report.threads} threads: ${hw.report.reasons.threads}`);
      const { shape } = problem;
      const kind = shape.layer ? layer : shape.cache ? cache : shape.lengths ? ragged : plain;
      return { ...(await kind(hw, problem)), initMilliseconds, release: () => hw.dispose() };
    },
  };
}

/** Adds a custom section of random bytes to the module, because V8 caches compiled code by the module's bytes. */
function withStamp(wasm) {
  const name = [5, ...new TextEncoder().encode("bench")];
  const content = crypto.getRandomValues(new Uint8Array(16));
  const section = [0, name.length + content.length, ...name, ...content];
  const stamped = new Uint8Array(wasm.length + section.length);
  stamped.set(wasm);
  stamped.set(section, wasm.length);
  return stamped;
}

export const optionsOf = ({ causal, left, topK }) => ({
  ...(causal && { causal: true }),
  ...(Number.isFinite(left) && { window: { left } }),
  ...(topK && { returns: { output: true, topK } }),
});

function plain(hw, { shape, query, key, value }) {
  const { batch, heads, kvHeads, queries, keys, dim } = shape;
  const tensors = [
    { data: query, shape: [batch, heads, queries, dim] },
    { data: key, shape: [batch, kvHeads, keys, dim] },
    { data: value, shape: [batch, kvHeads, keys, dim] },
  ];
  const options = optionsOf(shape);
  let output;
  return {
    call: async () => ({ output } = await hw.scaledDotProductAttention(...tensors, options)),
    row: rowOf(shape, () => output.data),
    inside: () =>
      insideEngine(hw, tensors, (inner, into) => hw.scaledDotProductAttention(...inner, { ...options, into })),
  };
}

export const rowOf =
  ({ heads, queries, dim }, data) =>
  ({ b, h, i }) =>
    data()
      .subarray(((b * heads + h) * queries + i) * dim)
      .subarray(0, dim);

/** The same call on tensors inside the engine, which copies nothing. */
function insideEngine(hw, tensors, attend) {
  const inner = tensors.map(({ data, shape }) => {
    const tensor = hw.allocate(shape);
    tensor.data.set(data);
    return tensor;
  });
  const into = hw.allocate(tensors[0].shape);
  return { call: () => attend(inner, into), release: () => [...inner, into].forEach((tensor) => tensor.dispose()) };
}

export async function cache(hw, problem) {
  const { shape, query } = problem;
  const { heads, dim } = shape;
  const held = await filledCache(hw, problem);
  const tensor = { data: query, shape: [1, heads, 1, dim] };
  let output;
  return {
    call: async () => ({ output } = await held.attend(tensor)),
    row: rowOf(shape, () => output.data),
  };
}

/** A cache with all keys and values of the case. */
export async function filledCache(hw, { shape, key, value }) {
  const { kvHeads, keys, dim } = shape;
  const held = await hw.kvCache({ numKvHeads: kvHeads, headDim: dim, dtype: shape.cache, capacity: keys });
  const chunk = 1024; // tokens of one append: a copy of all tokens would be as large as the cache
  for (let from = 0; from < keys; from += chunk) {
    const tokens = (data) => tokensOf(data, shape, from, Math.min(from + chunk, keys));
    await held.append(tokens(key), tokens(value));
  }
  return held;
}

function tokensOf(data, { kvHeads, keys, dim }, from, to) {
  const tokens = new Float32Array(kvHeads * (to - from) * dim);
  for (let g = 0; g < kvHeads; g++)
    tokens.set(data.subarray((g * keys + from) * dim, (g * keys + to) * dim), g * (to - from) * dim);
  return { data: tokens, shape: [1, kvHeads, to - from, dim] };
}

/** Sequences of different lengths in one call, without padding: [1, all tokens, heads, dim]. */
export function ragged(hw, { shape, query, key, value }) {
  const { batch, heads, queries: longest, dim, lengths } = shape;
  const width = heads * dim;
  const starts = lengths.reduce((sums, length) => [...sums, sums.at(-1) + length], [0]);
  const packed = (data) => {
    const padded = packHeads(data, { batch, heads, length: longest, dim });
    const tokens = new Float32Array(starts.at(-1) * width);
    for (const [b, length] of lengths.entries()) {
      const from = b * longest * width;
      tokens.set(padded.subarray(from, from + length * width), starts[b] * width);
    }
    return { data: tokens, shape: [1, starts.at(-1), heads, dim] };
  };
  const tensors = [query, key, value].map(packed);
  const bounds = { data: Int32Array.from(starts), shape: [starts.length] };
  const options = { layout: "BSHD", cuSeqLensQuery: bounds, cuSeqLensKey: bounds };
  let output;
  return {
    call: async () => ({ output } = await hw.scaledDotProductAttention(...tensors, options)),
    row: ({ b, h, i }) => output.data.subarray((starts[b] + i) * width + h * dim).subarray(0, dim),
    inside: () =>
      insideEngine(hw, tensors, (inner, into) => hw.scaledDotProductAttention(...inner, { ...options, into })),
  };
}

export async function layer(hw, { shape, input, weights }) {
  const { heads, queries, dim } = shape;
  const width = heads * dim;
  const held = await hw.multiHeadAttention({ inputDim: width, modelDim: width, numHeads: heads, weights });
  const x = { data: input, shape: [1, queries, width] };
  let output;
  return {
    call: async () => ({ output } = await held.forward(x)),
    row: ({ i }) => output.data.subarray(i * width, (i + 1) * width),
  };
}
