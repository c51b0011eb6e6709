// The cases as ONNX graphs, in every form that ONNX Runtime has for them. Weights of a layer and the content of a cache
// are part of the graph, as headwise holds them too. Every call copies the other inputs and the output.

import { packHeads, repeatHeads } from "../harness/problem.mjs";
import { INT32, INT64, onnxModel } from "./onnxModel.mjs";

/** With more bytes, a graph with repeated heads does not fit the runtime's memory. */
const MOST_CONSTANT_BYTES = 600e6;

/** @returns {{ form: string, open: () => Promise<object> }[]} */
export function onnxForms(ort, sessionOptions, problem) {
  return graphsOf(problem.shape).map(([form, graph]) => ({
    form,
    open: () => openSession(ort, sessionOptions, graph(problem), problem.shape),
  }));
}

export function graphsOf({ layer, topK, cache, lengths, causal, left, mask, alibi, ring, position, queries }) {
  if (ring || mask || alibi || position || (cache && (layer || queries > 1)))
    throw new Error("no graph is written for this yet");
  if (layer)
    return [
      ["Attention (contrib)", fusedLayer],
      ["MultiHeadAttention", separateLayer],
    ];
  if (topK) return [["MatMul, Softmax, TopK", lookedAt]];
  if (lengths) return [["MultiHeadAttention", padded]];
  if (cache === "float32")
    return [
      ["GroupQueryAttention", groupedDecode],
      ["MultiHeadAttention", repeatedDecode],
      ["Attention", plainDecode],
    ];
  if (cache) throw new Error("it has no such cache");
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

async function openSession(ort, options, { feeds, output, ...graph }, shape) {
  const inputs = feeds.map(({ name, type, shape: extents }) => ({ name, type, shape: extents }));
  const session = await ort.InferenceSession.create(
    onnxModel({ ...graph, inputs, outputs: graph.outputs ?? ["Y"] }),
    options,
  );
  const typeNames = { [INT32]: "int32", [INT64]: "int64" };
  const tensors = Object.fromEntries(
    feeds.map(({ name, type, data, shape: extents }) => [
      name,
      new ort.Tensor(typeNames[type] ?? "float32", data, extents),
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

function grouped(problem) {
  const { batch, heads, kvHeads, keys, left } = problem.shape;
  const window = Number.isFinite(left) ? { local_window_size: left + 1 } : {};
  const attributes = { num_heads: heads, kv_num_heads: kvHeads, ...window };
  const inputs = ["Q", "K", "V", "", "", "last", "total"];
  return {
    nodes: [contrib("GroupQueryAttention", inputs, attributes, ["Y", "present_key", "present_value"])],
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

/** The cache holds all tokens except the last, which arrives with the query. */
function groupedDecode({ shape, query, key, value }) {
  const { heads, kvHeads, keys, dim } = shape;
  const tokens = (data, from, to) => {
    const part = new Float32Array(kvHeads * (to - from) * dim);
    for (let g = 0; g < kvHeads; g++)
      part.set(data.subarray((g * keys + from) * dim, (g * keys + to) * dim), g * (to - from) * dim);
    return part;
  };
  const past = (name, data) => ({ name, data: tokens(data, 0, keys - 1), shape: [1, kvHeads, keys - 1, dim] });
  const present = (name, data) => ({ name, data: tokens(data, keys - 1, keys), shape: [1, 1, kvHeads * dim] });
  const inputs = ["Q", "K", "V", "past_key", "past_value", "last", "total"];
  const attributes = { num_heads: heads, kv_num_heads: kvHeads };
  return {
    nodes: [contrib("GroupQueryAttention", inputs, attributes, ["Y", "present_key", "present_value"])],
    constants: [past("past_key", key), past("past_value", value)],
    feeds: [
      { name: "Q", data: query, shape: [1, 1, heads * dim] },
      present("K", key),
      present("V", value),
      ...lengthFeeds(1, keys),
    ],
    output: "packed",
  };
}

function repeatedDecode({ shape, query, key, value }) {
  const { heads, keys, dim } = shape;
  if (2 * heads * keys * dim * 4 > MOST_CONSTANT_BYTES) throw new Error("the repeated heads do not fit");
  const constant = (name, data) => ({ name, data: repeatHeads(data, shape), shape: [1, heads, keys, dim] });
  return {
    nodes: [contrib("MultiHeadAttention", ["Q", "K", "V"], { num_heads: heads })],
    constants: [constant("K", key), constant("V", value)],
    feeds: [{ name: "Q", data: query, shape: [1, 1, heads * dim] }],
    output: "packed",
  };
}

function plainDecode(problem) {
  const { feeds, ...graph } = standard(problem);
  return { ...graph, feeds: feeds.slice(0, 1), constants: feeds.slice(1) };
}

function padded(problem) {
  const { batch, heads, keys, lengths } = problem.shape;
  const data = Int32Array.from({ length: batch * keys }, (_, k) => Number(k % keys < lengths[Math.floor(k / keys)]));
  return {
    nodes: [contrib("MultiHeadAttention", ["Q", "K", "V", "", "mask"], { num_heads: heads })],
    feeds: [...packedFeeds(problem), { name: "mask", type: INT32, data, shape: [batch, keys] }],
    output: "packed",
  };
}

const layerInput = ({ shape: { heads, queries, dim }, input }) => [
  { name: "X", data: input, shape: [1, queries, heads * dim] },
];

function fusedLayer(problem) {
  const { shape, weights } = problem;
  const width = shape.heads * shape.dim;
  const packed = new Float32Array(3 * width * width);
  for (const [k, W] of [weights.Wq, weights.Wk, weights.Wv].entries())
    for (let row = 0; row < width; row++) packed.set(W.subarray(row * width, (row + 1) * width), (row * 3 + k) * width);
  const bias = Float32Array.from([...weights.bq, ...weights.bk, ...weights.bv]);
  return {
    nodes: [
      contrib("Attention", ["X", "Wqkv", "bqkv"], { num_heads: shape.heads }, ["mixed"]),
      { op: "MatMul", inputs: ["mixed", "Wo"], outputs: ["projected"] },
      { op: "Add", inputs: ["projected", "bo"], outputs: ["Y"] },
    ],
    constants: [
      { name: "Wqkv", data: packed, shape: [width, 3 * width] },
      { name: "bqkv", data: bias, shape: [3 * width] },
      { name: "Wo", data: weights.Wo, shape: [width, width] },
      { name: "bo", data: weights.bo, shape: [width] },
    ],
    feeds: layerInput(problem),
    output: "layer",
  };
}

function separateLayer(problem) {
  const { shape, weights } = problem;
  const width = shape.heads * shape.dim;
  const project = (letter, from, to) => [
    { op: "MatMul", inputs: [from, `W${letter}`], outputs: [`${to}0`] },
    { op: "Add", inputs: [`${to}0`, `b${letter}`], outputs: [to] },
  ];
  return {
    nodes: [
      ...["q", "k", "v"].flatMap((letter) => project(letter, "X", letter)),
      contrib("MultiHeadAttention", ["q", "k", "v"], { num_heads: shape.heads }, ["mixed"]),
      ...project("o", "mixed", "Y"),
    ],
    constants: Object.entries(weights).map(([name, data]) => ({
      name,
      data,
      shape: name.startsWith("W") ? [width, width] : [width],
    })),
    feeds: layerInput(problem),
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
