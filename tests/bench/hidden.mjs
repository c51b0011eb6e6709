// node tests/bench/hidden.mjs: measures which output rows are spoiled by a NaN in a hidden key and its value, for a
// table of the README. It needs the peers: `npm ci --prefix tests/bench` installs them.

import { createAttention, tensor } from "../../dist/index.node.js";
import { settingsOf } from "../../web/build/usage.mjs";
import { BOOL, FLOAT, INT32, onnxModel } from "../attention-conformance/adapters/onnxModel.mjs";

const USAGE = `node tests/bench/hidden.mjs [options]
  --help    this text`;

settingsOf(USAGE);
const tf = await import("@tensorflow/tfjs-core");
await import("@tensorflow/tfjs-backend-wasm");
const ort = await import("onnxruntime-web");

const HEADS = { num_heads: 1 };
const [TOKENS, DIM] = [3, 8];
const tokens = (last) => Float32Array.from({ length: TOKENS * DIM }, (_, k) => (k < 2 * DIM ? (k % 5) / 10 : last));
const [query, broken] = [tokens(0.5), tokens(NaN)];
/** The last key is hidden from every query; with a causal mask, from all but the last query. */
const visible = Uint8Array.of(1, 1, 0, 1, 1, 0, 1, 1, 0);

const contenders = {
  "headwise, mask": () => headwise({ mask: tensor(visible, [TOKENS, TOKENS]) }),
  "headwise, causal": () => headwise({ causal: true }),
  "ONNX Runtime Web, Attention, mask": () =>
    onnx({ op: "Attention", inputs: ["Q", "K", "V", "mask"] }, [1, 1, TOKENS, DIM], {
      mask: ["bool", BOOL, visible, [TOKENS, TOKENS]],
    }),
  "ONNX Runtime Web, Attention, causal": () =>
    onnx({ op: "Attention", inputs: ["Q", "K", "V"], attributes: { is_causal: 1 } }, [1, 1, TOKENS, DIM]),
  "ONNX Runtime Web, MultiHeadAttention, key padding": () =>
    onnx(
      { op: "MultiHeadAttention", domain: "com.microsoft", inputs: ["Q", "K", "V", "", "mask"], attributes: HEADS },
      [1, TOKENS, DIM],
      { mask: ["int32", INT32, Int32Array.of(1, 1, 0), [1, TOKENS]] },
    ),
  "ONNX Runtime Web, GroupQueryAttention, causal": () =>
    onnx(
      {
        op: "GroupQueryAttention",
        domain: "com.microsoft",
        inputs: ["Q", "K", "V", "", "", "last", "total"],
        outputs: ["Y", "present_key", "present_value"],
        attributes: { ...HEADS, kv_num_heads: 1 },
      },
      [1, TOKENS, DIM],
      { last: ["int32", INT32, Int32Array.of(TOKENS - 1), [1]], total: ["int32", INT32, Int32Array.of(TOKENS), [1]] },
    ),
  "TensorFlow.js, matMul and softmax, mask of -1e9": tensorflow,
};
async function headwise(options) {
  const hw = await createAttention({ threads: 1 });
  const keys = tensor(broken, [TOKENS, DIM]);
  const { output } = await hw.scaledDotProductAttention(tensor(query, [TOKENS, DIM]), keys, keys, options);
  hw.dispose();
  return output.data;
}

/** @param {object} more - further inputs by name: type (its number in a model), data, shape */
async function onnx(node, shape, more = {}) {
  const floats = ["Q", "K", "V"].map((name) => ({ name, type: FLOAT, shape }));
  const others = Object.entries(more).map(([name, [, type, , extents]]) => ({ name, type, shape: extents }));
  const model = onnxModel({ nodes: [{ outputs: ["Y"], ...node }], inputs: [...floats, ...others], outputs: ["Y"] });
  const session = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
  const feeds = Object.entries(more).map(([name, [type, , data, extents]]) => [
    name,
    new ort.Tensor(type, data, extents),
  ]);
  const given = { Q: query, K: broken, V: broken };
  for (const [name, data] of Object.entries(given)) feeds.push([name, new ort.Tensor("float32", data, shape)]);
  return (await session.run(Object.fromEntries(feeds))).Y.data;
}

async function tensorflow() {
  await tf.setBackend("wasm");
  const matrix = (data) => tf.tensor2d(data, [TOKENS, DIM]);
  const mask = tf.tensor2d(
    Float32Array.from(visible, (seen) => (seen ? 0 : -1e9)),
    [TOKENS, TOKENS],
  );
  const scores = tf.matMul(matrix(query), matrix(broken), false, true);
  return tf.matMul(tf.softmax(tf.add(scores, mask)), matrix(broken)).data();
}

ort.env.logLevel = "error";
ort.env.wasm.numThreads = 1;
for (const [name, compute] of Object.entries(contenders)) {
  const output = await compute();
  const spoilt = [...Array(TOKENS).keys()].filter((row) => output.slice(row * DIM, (row + 1) * DIM).some(Number.isNaN));
  console.log(`${name}: ${spoilt.length === 0 ? "no row" : `rows ${spoilt.join(", ")}`}`);
}
