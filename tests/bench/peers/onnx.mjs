// The cases as ONNX graphs, in every form that ONNX Runtime has for them. Weights of a layer and the content of a cache
// are part of the graph, as headwise holds them too. Every call copies the other inputs and the output.

import { visibleRanges } from "../harness/cases.mjs";
import { packHeads, repeatHeads } from "../harness/problem.mjs";
import { BOOL, INT32, INT64, onnxModel, TYPE_NAMES } from "../../attention-conformance/adapters/onnxModel.mjs";

/** With more bytes, a graph with repeated heads does not fit the runtime's memory. */
const MOST_CONSTANT_BYTES = 600e6;

/** With this many queries on a cache, GroupQueryAttention takes half a minute. */
const SLOW_ROWS = 128;

/** @returns {{ form: string, open: () => Promise<object> }[]} */
export function onnxForms(ort, sessionOptions, problem) {
  return graphsOf(problem.shape).map(([form, graph]) => ({
    form,
    open: () => openSession(ort, sessionOptions, graph(problem), problem.shape),
  }));
}

export function graphsOf(shape) {
  const { layer, topK, cache, lengths, causal, left, mask, alibi, softcap, formula, gradient, linear, step } = shape;
  if (softcap || formula || gradient || linear || step) return []; // no form has them
  if (layer) return layerGraphs(shape);
  if (cache) return cacheGraphs(shape);
  if (topK) return [["MatMul, Softmax, TopK", lookedAt]];
  if (lengths) return [["MultiHeadAttention", padded]];
  if (mask || alibi)
    return [
      ["MultiHeadAttention", mask === "padding" ? padded : biased],
      ["Attention", masked],
    ];
  if (Number.isFinite(left)) return [["GroupQueryAttention", grouped]];
  if (causal)
    return [
      ["MultiHeadAttention", multiHead],
      ["GroupQueryAttention", grouped],
      ["Attention", standard],
    ];
  return [
    ["MultiHeadAttention", multiHead],
    ["Attention", standard],
  ];
}

function layerGraphs({ position, cache, heads, kvHeads }) {
  if (cache && heads !== kvHeads) return [["GroupQueryAttention", cachedLayer]];
  if (cache)
    return [
      ["GroupQueryAttention", cachedLayer],
      ["MultiHeadAttention", pastLayer],
    ];
  if (position === "rotary") return [["MultiHeadAttention", separateLayer]];
  return [
    ["Attention (contrib)", fusedLayer],
    ["MultiHeadAttention", separateLayer],
  ];
}

function cacheGraphs({ cache, ring, queries }) {
  if (cache !== "float32") throw new Error("it has no such cache");
  if (ring) throw new Error("it has no ring");
  return [
    ...(queries < SLOW_ROWS ? [["GroupQueryAttention", groupedDecode]] : []),
    ["MultiHeadAttention", repeatedDecode],
    ["Attention", plainDecode],
  ];
}

async function openSession(ort, options, { feeds, output, ...graph }, shape) {
  const inputs = feeds.map(({ name, type, shape: extents }) => ({ name, type, shape: extents }));
  const session = await ort.InferenceSession.create(
    onnxModel({ ...graph, inputs, outputs: graph.outputs ?? ["Y"] }),
    options,
  );
  const tensors = Object.fromEntries(
    feeds.map(({ name, type, data, shape: extents }) => [
      name,
      new ort.Tensor(TYPE_NAMES[type] ?? "float32", data, extents),
    ]),
  );
  let results;
  const { heads, queries, dim } = shape;
  const width = heads * dim;
  const rows = {
    packed: ({ b, h, i }) => results.Y.data.subarray((b * queries + i) * width + h * dim).subarray(0, dim),
    heads: ({ b, h, i }) => results.Y.data.subarray(((b * heads + h) * queries + i) * dim).subarray(0, dim),
    layer: ({ i }) => results.Y.data.subarray(i * width, (i + 1) * width),
  };
  return {
    call: async () => (results = await session.run(tensors, graph.outputs ?? ["Y"])),
    row: rows[output],
    release: () => session.release(),
  };
}

const contrib = (op, inputs, attributes, outputs = ["Y"]) => ({
  op,
  domain: "com.microsoft",
  inputs,
  outputs,
  attributes,
});

/** [batch, length, heads · dim]: the form of the contrib operators. */
function packedFeeds({ shape, query, key, value }, heads = shape.heads) {
  const { batch, queries, keys, kvHeads, dim } = shape;
  const feed = (name, data, count, length) => ({
    name,
    data: packHeads(data, { batch, heads: count, length, dim }),
    shape: [batch, length, count * dim],
  });
  const repeated = (data) => (heads === kvHeads ? data : repeatHeads(data, { heads, kvHeads }));
  return [
    feed("Q", query, shape.heads, queries),
    feed("K", repeated(key), heads, keys),
    feed("V", repeated(value), heads, keys),
  ];
}

/** MultiHeadAttention has no groups, so keys and values are repeated. */
function multiHead(problem) {
  const { heads, causal } = problem.shape;
  const attributes = { num_heads: heads, unidirectional: Number(causal) };
  return {
    nodes: [contrib("MultiHeadAttention", ["Q", "K", "V"], attributes)],
    feeds: packedFeeds(problem),
    output: "packed",
  };
}

const lengthFeeds = (batch, length) => [
  { name: "last", type: INT32, data: new Int32Array(batch).fill(length - 1), shape: [batch] },
  { name: "total", type: INT32, data: Int32Array.of(length), shape: [1] },
];

const CACHED = ["Y", "present_key", "present_value"];

const groupedAttributes = ({ heads, kvHeads, left }) => ({
  num_heads: heads,
  kv_num_heads: kvHeads,
  ...(Number.isFinite(left) && { local_window_size: left + 1 }),
});

function grouped(problem) {
  const { batch, kvHeads, keys } = problem.shape;
  const inputs = ["Q", "K", "V", "", "", "last", "total"];
  return {
    nodes: [contrib("GroupQueryAttention", inputs, groupedAttributes(problem.shape), CACHED)],
    feeds: [...packedFeeds(problem, kvHeads), ...lengthFeeds(batch, keys)],
    output: "packed",
  };
}

/** ONNX's own operator, with heads as the second axis. */
function standard({ shape, query, key, value }) {
  const { batch, heads, kvHeads, queries, keys, dim, causal } = shape;
  return {
    nodes: [{ op: "Attention", inputs: ["Q", "K", "V"], outputs: ["Y"], attributes: { is_causal: Number(causal) } }],
    feeds: [
      { name: "Q", data: query, shape: [batch, heads, queries, dim] },
      { name: "K", data: key, shape: [batch, kvHeads, keys, dim] },
      { name: "V", data: value, shape: [batch, kvHeads, keys, dim] },
    ],
    output: "heads",
  };
}

/** The mask of a case, as an input of every call. */
function maskFeed({ shape: { mask, heads, queries, keys }, mask: given, slopes }) {
  if (mask) return { name: "mask", type: BOOL, ...given };
  const lowered = (h, i, j) => -slopes[h] * Math.abs(i + keys - queries - j);
  return { name: "mask", data: biasOf([heads, queries, keys], lowered), shape: [1, heads, queries, keys] };
}

/** A bias of these extents: heads, queries, keys. */
function biasOf([heads, queries, keys], bias) {
  const data = new Float32Array(heads * queries * keys);
  for (let h = 0, n = 0; h < heads; h++)
    for (let i = 0; i < queries; i++) for (let j = 0; j < keys; j++) data[n++] = bias(h, i, j);
  return data;
}

const hidingBias = ({ data, ...mask }) => ({
  ...mask,
  type: undefined,
  data: Float32Array.from(data, (seen) => (seen ? 0 : -Infinity)),
});

/** A bias or a mask that differs between queries. MultiHeadAttention takes both as a bias. */
function biased(problem) {
  const { feeds, nodes, ...graph } = multiHead(problem);
  const feed = maskFeed(problem);
  const [node] = nodes;
  return {
    ...graph,
    nodes: [{ ...node, inputs: [...node.inputs, "", "", "mask"] }],
    feeds: [...feeds, problem.shape.mask ? hidingBias(feed) : feed],
  };
}

/** Attention needs a row of the mask for every query. */
function masked(problem) {
  const { feeds, nodes, ...graph } = standard(problem);
  const { data, shape, ...feed } = maskFeed(problem);
  const [batch, heads, rows, keys] = shape;
  const { queries } = problem.shape;
  const repeats = queries / rows;
  const rowOf = (n) => Math.floor(n / repeats / keys) * keys + (n % keys);
  const whole = repeats === 1 ? data : Uint8Array.from({ length: data.length * repeats }, (_, n) => data[rowOf(n)]);
  return {
    ...graph,
    nodes: [{ ...nodes[0], inputs: [...nodes[0].inputs, "mask"] }],
    feeds: [...feeds, { ...feed, data: whole, shape: [batch, heads, queries, keys] }],
  };
}

/** The pairs that causality and a window leave visible, for operators that cannot end causality at the last key. */
function visibleFeeds({ shape }) {
  const { queries, keys } = shape;
  if (queries === 1) return [];
  const data = new Uint8Array(queries * keys);
  for (let i = 0; i < queries; i++)
    for (const [first, last] of visibleRanges(shape, 0, i)) data.fill(1, i * keys + first, i * keys + last + 1);
  return [{ name: "mask", type: BOOL, data, shape: [1, 1, queries, keys] }];
}

/** The cache holds all tokens except those of the queries, which arrive with them. */
function groupedDecode({ shape, query, key, value }) {
  const { heads, kvHeads, queries, keys, dim, left } = shape;
  const before = keys - queries;
  const tokens = (data, from, to) => {
    const part = new Float32Array(kvHeads * (to - from) * dim);
    for (let g = 0; g < kvHeads; g++)
      part.set(data.subarray((g * keys + from) * dim, (g * keys + to) * dim), g * (to - from) * dim);
    return part;
  };
  const packed = (data, count) => packHeads(data, { batch: 1, heads: count, length: queries, dim });
  const past = (name, data) => ({ name, data: tokens(data, 0, before), shape: [1, kvHeads, before, dim] });
  const present = (name, data) => ({
    name,
    data: packed(tokens(data, before, keys), kvHeads),
    shape: [1, queries, kvHeads * dim],
  });
  const inputs = ["Q", "K", "V", "past_key", "past_value", "last", "total"];
  return {
    nodes: [contrib("GroupQueryAttention", inputs, groupedAttributes({ heads, kvHeads, left }), CACHED)],
    constants: [past("past_key", key), past("past_value", value)],
    feeds: [
      { name: "Q", data: packed(query, heads), shape: [1, queries, heads * dim] },
      present("K", key),
      present("V", value),
      ...lengthFeeds(1, keys),
    ],
    output: "packed",
  };
}

function repeatedDecode(problem) {
  const { shape, query, key, value } = problem;
  const { heads, queries, keys, dim } = shape;
  if (2 * heads * keys * dim * 4 > MOST_CONSTANT_BYTES) throw new Error("the repeated heads do not fit");
  const constant = (name, data) => ({ name, data: repeatHeads(data, shape), shape: [1, heads, keys, dim] });
  const visible = visibleFeeds(problem).map(hidingBias);
  const inputs = ["Q", "K", "V", ...(visible.length > 0 ? ["", "", "mask"] : [])];
  const packed = packHeads(query, { batch: 1, heads, length: queries, dim });
  return {
    nodes: [contrib("MultiHeadAttention", inputs, { num_heads: heads })],
    constants: [constant("K", key), constant("V", value)],
    feeds: [{ name: "Q", data: packed, shape: [1, queries, heads * dim] }, ...visible],
    output: "packed",
  };
}

function plainDecode(problem) {
  const { feeds, ...graph } = standard({ ...problem, shape: { ...problem.shape, causal: false } });
  const visible = visibleFeeds(problem);
  const [node] = graph.nodes;
  return {
    ...graph,
    nodes: [{ ...node, inputs: [...node.inputs, ...visible.map(({ name }) => name)] }],
    feeds: [...feeds.slice(0, 1), ...visible],
    constants: feeds.slice(1),
  };
}

function padded(problem) {
  const { batch, heads, keys, lengths, keyLengths = lengths } = problem.shape;
  const data = Int32Array.from({ length: batch * keys }, (_, k) => Number(k % keys < keyLengths[Math.floor(k / keys)]));
  return {
    nodes: [contrib("MultiHeadAttention", ["Q", "K", "V", "", "mask"], { num_heads: heads })],
    feeds: [...packedFeeds(problem), { name: "mask", type: INT32, data, shape: [batch, keys] }],
    output: "packed",
  };
}

const layerFeed = ({ shape: { heads, queries, dim }, input }) => ({
  name: "X",
  data: input,
  shape: [1, queries, heads * dim],
});

/** Adds the table of a layer's positions to X, if there is one; `from` names the sum. */
function added({ shape: { heads, queries, dim }, table }) {
  if (!table) return { from: "X", nodes: [], constants: [] };
  const data = Float32Array.from(table);
  return {
    from: "placed",
    nodes: [{ op: "Add", inputs: ["X", "table"], outputs: ["placed"] }],
    constants: [{ name: "table", data, shape: [queries, heads * dim] }],
  };
}

const projection = (letter, from, to) => [
  { op: "MatMul", inputs: [from, `W${letter}`], outputs: [`${to}0`] },
  { op: "Add", inputs: [`${to}0`, `b${letter}`], outputs: [to] },
];

const projected = (from) => ["q", "k", "v"].flatMap((letter) => projection(letter, from, letter));

const layerWeights = ({ weights }) =>
  Object.entries(weights).map(([name, data]) => {
    const columns = weights[`b${name[1]}`].length;
    return { name, data, shape: name.startsWith("W") ? [data.length / columns, columns] : [columns] };
  });

function fusedLayer(problem) {
  const { shape, weights } = problem;
  const width = shape.heads * shape.dim;
  const packed = new Float32Array(3 * width * width);
  for (const [k, W] of [weights.Wq, weights.Wk, weights.Wv].entries())
    for (let row = 0; row < width; row++) packed.set(W.subarray(row * width, (row + 1) * width), (row * 3 + k) * width);
  const bias = Float32Array.from([...weights.bq, ...weights.bk, ...weights.bv]);
  const { from, nodes, constants } = added(problem);
  return {
    nodes: [
      ...nodes,
      contrib("Attention", [from, "Wqkv", "bqkv"], { num_heads: shape.heads }, ["mixed"]),
      ...projection("o", "mixed", "Y"),
    ],
    constants: [
      ...constants,
      { name: "Wqkv", data: packed, shape: [width, 3 * width] },
      { name: "bqkv", data: bias, shape: [3 * width] },
      ...layerWeights(problem).filter(({ name }) => ["Wo", "bo"].includes(name)),
    ],
    feeds: [layerFeed(problem)],
    output: "layer",
  };
}

function separateLayer(problem) {
  const { heads } = problem.shape;
  const { from, nodes, constants } = added(problem);
  const turn = problem.cos !== undefined;
  const turned = (letter) => contrib("RotaryEmbedding", [letter, "positions", "cos", "sin"], {}, [`${letter}_turned`]);
  const [q, k] = turn ? ["q_turned", "k_turned"] : ["q", "k"];
  return {
    nodes: [
      ...nodes,
      ...projected(from),
      ...(turn ? ["q", "k"].map(turned) : []),
      contrib("MultiHeadAttention", [q, k, "v"], { num_heads: heads }, ["mixed"]),
      ...projection("o", "mixed", "Y"),
    ],
    constants: [
      ...constants,
      ...layerWeights(problem),
      ...(turn ? [...turns(problem), { name: "positions", type: INT64, data: BigInt64Array.of(0n), shape: [1] }] : []),
    ],
    feeds: [layerFeed(problem)],
    output: "layer",
  };
}

/** The tables of a rotary embedding. */
const turns = ({ shape: { keys, dim }, cos, sin }) =>
  Object.entries({ cos, sin }).map(([name, table]) => ({
    name,
    data: Float32Array.from(table),
    shape: [keys, dim / 2],
  }));

/** The keys and values of the tokens in the cache. */
const pastOf = ({ shape: { kvHeads, queries, keys, dim }, past }) => [
  { name: "past_key", data: past.key, shape: [1, kvHeads, keys - queries, dim] },
  { name: "past_value", data: past.value, shape: [1, kvHeads, keys - queries, dim] },
];

function cachedLayer(problem) {
  const { shape, cos } = problem;
  const inputs = ["q", "k", "v", "past_key", "past_value", "last", "total", ...(cos ? ["cos", "sin"] : [])];
  const attributes = { ...groupedAttributes(shape), do_rotary: Number(cos !== undefined) };
  return {
    nodes: [
      ...projected("X"),
      contrib("GroupQueryAttention", inputs, attributes, ["mixed", ...CACHED.slice(1)]),
      ...projection("o", "mixed", "Y"),
    ],
    constants: [...layerWeights(problem), ...pastOf(problem), ...(cos ? turns(problem) : [])],
    feeds: [layerFeed(problem), ...lengthFeeds(1, shape.keys)],
    output: "layer",
  };
}

function pastLayer(problem) {
  const inputs = ["q", "k", "v", "", "", "", "past_key", "past_value"];
  return {
    nodes: [
      ...projected("X"),
      contrib("MultiHeadAttention", inputs, { num_heads: problem.shape.heads }, ["mixed", ...CACHED.slice(1)]),
      ...projection("o", "mixed", "Y"),
    ],
    constants: [...layerWeights(problem), ...pastOf(problem)],
    feeds: [layerFeed(problem)],
    output: "layer",
  };
}

/** No fused operator returns probabilities, so the formula is written out. */
function lookedAt(problem) {
  const { dim, topK } = problem.shape;
  const { feeds, output } = standard(problem);
  return {
    nodes: [
      { op: "Transpose", inputs: ["K"], outputs: ["Kt"], attributes: { perm: [0, 1, 3, 2] } },
      { op: "MatMul", inputs: ["Q", "Kt"], outputs: ["products"] },
      { op: "Mul", inputs: ["products", "scale"], outputs: ["scores"] },
      { op: "Softmax", inputs: ["scores"], outputs: ["probs"], attributes: { axis: 3 } },
      { op: "TopK", inputs: ["probs", "k"], outputs: ["values", "indices"] },
      { op: "MatMul", inputs: ["probs", "V"], outputs: ["Y"] },
    ],
    constants: [
      { name: "scale", data: Float32Array.of(1 / Math.sqrt(dim)), shape: [] },
      { name: "k", data: BigInt64Array.of(BigInt(topK)), type: INT64, shape: [1] },
    ],
    outputs: ["Y", "values"],
    feeds,
    output,
  };
}
