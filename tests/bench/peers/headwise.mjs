// headwise itself, through its public API. Every case has an instance of its own, with a module that V8 has not seen.
// So its first call includes compilation, and its memory holds only this case.

import { packHeads } from "../harness/problem.mjs";

export async function openHeadwise({ variant, threads, locate, read, isNode }) {
  const { formula } = await import(locate("dist/formula.js"));
  const wasm = await read(locate(`dist/wasm/headwise.${variant}.wasm`));
  return {
    async prepare(problem) {
      const { shape } = problem;
      const entry = `dist/${shape.inWorker ? "worker" : "index"}${isNode ? ".node" : ""}.js`;
      const { createAttention, toFloat16 } = await import(locate(entry));
      const start = performance.now();
      const source = { backend: "wasm", variant, threads, wasm: { binary: withStamp(wasm) } };
      const hw = await createAttention(source);
      const initMilliseconds = performance.now() - start;
      if (hw.report.threads !== threads) throw new Error(`${hw.report.threads} threads: ${hw.report.reasons.threads}`);
      const kind = kindOf(shape);
      const call = await kind(hw, withFormulas(problem, formula), toFloat16);
      return { ...call, initMilliseconds, release: () => hw.dispose() };
    },
  };
}

/** Makes the repeated call of a case, from an instance and a problem. */
export function kindOf({ linear: isLinear, layer: isLayer, step: isStep, cache: dtype, lengths, gradient }) {
  if (isLinear) return linear;
  if (isStep) return step;
  if (gradient) return gradients;
  return isLayer ? layer : dtype ? cache : lengths ? ragged : plain;
}

/** The problem with its formulas as options, made by `formula` of headwise/formula. */
export function withFormulas(problem, formula) {
  if (!problem.formula) return problem;
  const { score, visible, parameters } = problem.formula;
  const formulas = {
    ...(score && { score: formula(score, parameters) }),
    ...(visible && { visible: formula(visible, parameters) }),
  };
  return { ...problem, formulas };
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

/** The options of a case, without its mask. */
export const optionsOf = ({ shape: { causal, left, topK, softcap }, slopes, formulas }) => ({
  ...(causal && { causal: true }),
  ...(Number.isFinite(left) && { window: { left } }),
  ...(slopes && { alibiSlopes: slopes }),
  ...(softcap && { softcap }),
  ...formulas,
  ...(topK && { returns: { output: true, topK } }),
});

function plain(hw, problem) {
  const { shape, query, key, value, mask } = problem;
  const { batch, heads, kvHeads, queries, keys, dim } = shape;
  const tensors = [
    { data: query, shape: [batch, heads, queries, dim] },
    { data: key, shape: [batch, kvHeads, keys, dim] },
    { data: value, shape: [batch, kvHeads, keys, dim] },
    ...(mask ? [{ ...mask, dtype: "bool" }] : []),
  ];
  const options = optionsOf(problem);
  return repeated(hw, tensors, rowOf(shape), ([q, k, v, visible], into) =>
    hw.scaledDotProductAttention(q, k, v, { ...options, ...(visible && { mask: visible }), ...into }),
  );
}

/** The gradient alone, or with the forward call. */
async function gradients(hw, problem) {
  const { shape, query, key, value, dOutput } = problem;
  const { batch, heads, queries, dim, gradient } = shape;
  const extents = [batch, heads, queries, dim];
  const given = [query, key, value, dOutput].map((data) => ({ data, shape: extents }));
  const options = optionsOf(problem);
  const forward = ([q, k, v]) =>
    hw.scaledDotProductAttention(q, k, v, { ...options, returns: { output: true, lse: true } });
  const known = await forward(given);
  const open = (place) => {
    const [q, k, v, dO] = given.map(place);
    const saved = { output: place(known.output), lse: place(known.lse) };
    let result;
    return {
      async call() {
        const { output, lse } = gradient === "whole" ? await forward([q, k, v]) : saved;
        result = await hw.attentionBackward({ query: q, key: k, value: v, output, lse, dOutput: dO, ...options });
      },
      row: (row) => gradientRow(shape, [result.dQuery.data, result.dKey.data, result.dValue.data], row),
      release: () => [q, k, v, dO, ...Object.values(saved)].forEach((tensor) => tensor.dispose?.()),
    };
  };
  return { ...open((tensor) => tensor), inside: () => open((tensor) => placeInside(hw, tensor)) };
}

function placeInside(hw, { data, shape, dtype }) {
  const tensor = hw.allocate(shape, dtype);
  tensor.data.set(data);
  return tensor;
}

/** The gradients of query, key and value of a row, one after the other. */
export const gradientRow = (shape, gradients, row) =>
  Float32Array.from(gradients.flatMap((data) => [...rowOf(shape)(data, row)]));

/** Finds a row in an output [batch, heads, queries, dim]. */
export const rowOf =
  ({ heads, queries, dim }) =>
  (data, { b, h, i }) =>
    data.subarray(((b * heads + h) * queries + i) * dim).subarray(0, dim);

/**
 * A call that is made again and again.
 *
 * @param {object[]} tensors - what every call copies into the engine; by default the output has the shape of the first
 * @param {(data: Float32Array, row: object) => Float32Array} find - finds a row in the output
 * @param {(tensors: object[], into: object) => Promise<object>} compute - `into`: the option of this name, or nothing
 * @param {number[]} outputShape
 * @returns also `inside()`, the same call on tensors inside the engine, which copies nothing; and `submitted(place)`, the
 *   same on tensors that `place` puts on the GPU, whose result stays there: it is over when the GPU has its commands
 */
function repeated(hw, tensors, find, compute, outputShape = tensors[0].shape) {
  let output;
  return {
    call: async () => ({ output } = await compute(tensors, {})),
    row: (row) => find(output.data, row),
    inside() {
      const inner = tensors.map((tensor) => placeInside(hw, tensor));
      const into = hw.allocate(outputShape);
      return {
        call: () => compute(inner, { into }),
        row: (row) => find(into.data, row),
        release: () => [...inner, into].forEach((tensor) => tensor.dispose()),
      };
    },
    submitted(place) {
      const inner = tensors.map(place);
      return {
        async call() {
          output?.dispose();
          ({ output } = await compute(inner, { location: "gpu" }));
        },
        async rows() {
          const data = await output.data();
          return (row) => find(data, row);
        },
      };
    },
  };
}

export async function cache(hw, problem) {
  const { shape, query } = problem;
  const { heads, queries, dim } = shape;
  const held = await filledCache(hw, problem);
  const options = optionsOf(problem);
  return repeated(hw, [{ data: query, shape: [1, heads, queries, dim] }], rowOf(shape), ([q], into) =>
    held.attend(q, { ...options, ...into }),
  );
}

/** A step of decoding on an empty cache, which is empty again afterwards. */
async function step(hw, { shape, query, key, value }) {
  const { heads, kvHeads, queries, keys, dim } = shape;
  const held = await hw.kvCache({ numKvHeads: kvHeads, headDim: dim, capacity: keys });
  const tensors = [
    { data: query, shape: [1, heads, queries, dim] },
    { data: key, shape: [1, kvHeads, keys, dim] },
    { data: value, shape: [1, kvHeads, keys, dim] },
  ];
  return repeated(hw, tensors, rowOf(shape), async ([q, k, v], into) => {
    const result = await held.step(q, k, v, into);
    await held.rewind(0);
    return result;
  });
}

/** A cache with all keys and values of the case. */
export async function filledCache(hw, { shape, key, value }) {
  const { kvHeads, keys, dim, cache: dtype, ring } = shape;
  const held = await hw.kvCache({
    numKvHeads: kvHeads,
    headDim: dim,
    dtype,
    ...(ring ? { ring } : { capacity: keys }),
  });
  await fill(held, { key, value, kvHeads, keys, dim });
  return held;
}

async function fill(cache, { key, value, ...shape }) {
  const chunk = 1024; // tokens of one append: a copy of all tokens would be as large as the cache
  for (let from = 0; from < shape.keys; from += chunk) {
    const tokens = (data) => tokensOf(data, shape, from, Math.min(from + chunk, shape.keys));
    await cache.append(tokens(key), tokens(value));
  }
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
  const find = (data, { b, h, i }) => data.subarray((starts[b] + i) * width + h * dim).subarray(0, dim);
  return repeated(hw, tensors, find, (inner, into) => hw.scaledDotProductAttention(...inner, { ...options, ...into }));
}

/** The weight lies in the engine, as it would for a model. */
function linear(hw, { shape, input, weight: { scales, ...numbers } }, toFloat16, place = (w) => placeInside(hw, w)) {
  const { inputs, outputs, dtype, layout: weightLayout } = shape.linear;
  const stored = dtype === "float16" ? { ...numbers, data: toFloat16(numbers.data) } : numbers;
  const weight = Object.assign(place(stored), scales && { scales });
  return repeated(
    hw,
    [{ data: input, shape: [1, inputs] }],
    (data) => data,
    async ([x], into) => ({ output: await hw.linear(x, weight, undefined, { weightLayout, ...into }) }),
    [1, outputs],
  );
}

export async function layer(hw, problem) {
  const { shape, input, weights, past } = problem;
  const { heads, kvHeads, queries, dim } = shape;
  const width = heads * dim;
  const sizes = { inputDim: width, modelDim: width, numHeads: heads, numKvHeads: kvHeads };
  const held = await hw.multiHeadAttention({ ...sizes, weights, ...positionOf(problem) });
  const find = (data, { i }) => data.subarray(i * width, (i + 1) * width);
  const { forward, restart } = past ? await steps(held, problem) : { forward: (x, into) => held.forward(x, into) };
  const calls = repeated(hw, [{ data: input, shape: [1, queries, width] }], find, ([x], into) => forward(x, into));
  const inside = async () => {
    await restart?.();
    return calls.inside();
  };
  return { ...calls, inside };
}

function positionOf({ shape: { position: kind, heads, keys, dim }, table }) {
  if (kind === undefined) return {};
  return { position: { kind, ...(kind === "learned" && { table: { data: table, shape: [keys, heads * dim] } }) } };
}

/** Steps that are made before the cache is rewound. */
const STEPS = 16;

/**
 * Steps of a layer with a cache. Each appends its tokens, so the cache is rewound after a few steps. The first step, and
 * the first one after `restart`, see exactly the keys of the case.
 */
async function steps(layer, { shape, past }) {
  const { kvHeads, queries, keys, dim } = shape;
  const cache = await layer.kvCache();
  const start = keys - queries;
  await fill(cache, { ...past, kvHeads, keys: start, dim });
  const restart = () => cache.rewind(start);
  return {
    restart,
    async forward(x, into) {
      if (cache.length >= start + STEPS * queries) await restart();
      return layer.forward(x, { cache, ...into });
    },
  };
}
