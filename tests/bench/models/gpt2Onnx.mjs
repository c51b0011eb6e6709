// A model of GPT-2 small's shape as an ONNX graph, in the form that ONNX Runtime is fastest with: its own operators for
// attention and GELU. The scores are those of the last token, as `model.run(tokens, { logits: "last" })` gives them.

import { INT64, onnxModel } from "../../attention-conformance/adapters/onnxModel.mjs";

const [WIDTH, HEADS, HEAD_WIDTH] = [768, 12, 64];
const EPSILON = { float: 1e-5 };

/** The tensors of a .safetensors file of float32. */
export function tensorsOf(file) {
  const length = Number(new DataView(file.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
  const start = 8 + length;
  return Object.entries(header).map(
    ([
      name,
      {
        shape,
        data_offsets: [from, to],
      },
    ]) => {
      return { name, shape, data: new Float32Array(file.buffer, start + from, (to - from) / 4) };
    },
  );
}

const norm = (x, name, y) => ({
  op: "LayerNormalization",
  inputs: [x, `${name}.weight`, `${name}.bias`],
  outputs: [y],
  attributes: { axis: 2, epsilon: EPSILON },
});
const own = (op, inputs, outputs, attributes) => ({ op, domain: "com.microsoft", inputs, outputs, attributes });
const add = (a, b, y) => ({ op: "Add", inputs: [a, b], outputs: [y] });
const product = (x, name, y) => [
  { op: "MatMul", inputs: [x, `${name}.weight`], outputs: [`${y}.product`] },
  add(`${y}.product`, `${name}.bias`, y),
];

function block(n, remembers) {
  const [h, at] = [`h.${n}`, (name) => `${n}.${name}`];
  const packed = [at("norm1"), `${h}.attn.c_attn.weight`, `${h}.attn.c_attn.bias`];
  const [past, present] = remembers ? [["", pastOf(n)], [presentOf(n)]] : [[], []];
  return [
    norm(`x${n}`, `${h}.ln_1`, at("norm1")),
    own("Attention", [...packed, ...past], [at("mixed"), ...present], { num_heads: HEADS, unidirectional: 1 }),
    ...product(at("mixed"), `${h}.attn.c_proj`, at("attended")),
    add(`x${n}`, at("attended"), at("middle")),
    norm(at("middle"), `${h}.ln_2`, at("norm2")),
    ...product(at("norm2"), `${h}.mlp.c_fc`, at("wide")),
    own("FastGelu", [at("wide")], [at("bent")]),
    ...product(at("bent"), `${h}.mlp.c_proj`, at("narrow")),
    add(at("middle"), at("narrow"), `x${n + 1}`),
  ];
}

const pastOf = (n) => `past${n}`;
const presentOf = (n) => `present${n}`;

/** Keys and values of no token, as the first call of a graph that remembers gets them, and their shape. */
export const NO_PAST = { data: new Float32Array(0), shape: [2, 1, HEADS, 0, HEAD_WIDTH] };

/** The names of the keys and values of the blocks: what a call gets, and what it gives for the next one. */
export const memoriesOf = (layers) => Array.from({ length: layers }, (_, n) => [pastOf(n), presentOf(n)]);

/**
 * The model's bytes. Inputs: `tokens` and `positions`, int64 `[1, length]`; output: `scores` `[1, vocabulary]`.
 *
 * @param {boolean} [options.remembers] - whether the graph gets keys and values of earlier tokens, and gives them
 */
export function gpt2Onnx(file, { layers, remembers = false }) {
  const last = { name: "last", data: BigInt64Array.of(-1n), type: INT64, shape: [1] };
  const flat = { name: "flat", data: BigInt64Array.of(1n, BigInt(WIDTH)), type: INT64, shape: [2] };
  const memories = remembers ? memoriesOf(layers) : [];
  return onnxModel({
    inputs: [
      ...["tokens", "positions"].map((name) => ({ name, type: INT64 })),
      ...memories.map(([name]) => ({ name })),
    ],
    outputs: ["scores", ...memories.map(([, name]) => name)],
    constants: [...tensorsOf(file), last, flat],
    nodes: [
      { op: "Gather", inputs: ["wte.weight", "tokens"], outputs: ["words"] },
      { op: "Gather", inputs: ["wpe.weight", "positions"], outputs: ["places"] },
      add("words", "places", "x0"),
      ...Array.from({ length: layers }, (_, n) => block(n, remembers)).flat(),
      norm(`x${layers}`, "ln_f", "normed"),
      { op: "Gather", inputs: ["normed", "last"], outputs: ["row"], attributes: { axis: 1 } },
      { op: "Reshape", inputs: ["row", "flat"], outputs: ["flatRow"] },
      { op: "Gemm", inputs: ["flatRow", "wte.weight"], outputs: ["scores"], attributes: { transB: 1 } },
    ],
  });
}
