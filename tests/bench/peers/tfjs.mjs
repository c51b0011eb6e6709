import { isPlain } from "../harness/cases.mjs";

const FOLDER = "tests/bench/node_modules/@tensorflow";

/** Most numbers of a score matrix that fits its memory. */
const MOST_SCORES = 150e6;

/** TensorFlow.js on its wasm backend. It has no attention, so the formula is written out. */
export async function open({ threads, locate, isNode }) {
  const tf = await load(locate, isNode);
  tf.wasm.setThreadsCount(threads);
  if (!isNode) tf.wasm.setWasmPaths(locate(`${FOLDER}/tfjs-backend-wasm/dist/`));
  if (!(await tf.setBackend("wasm"))) throw new Error("its wasm backend does not start");
  return { forms: (problem) => [{ form: "matMul, softmax, matMul", open: () => attend(tf, problem) }] };
}

async function load(locate, isNode) {
  if (isNode) {
    const { default: core } = await import("@tensorflow/tfjs-core");
    const { default: wasm } = await import("@tensorflow/tfjs-backend-wasm");
    return { ...core, wasm };
  }
  await import(locate(`${FOLDER}/tfjs-core/dist/tf-core.min.js`));
  await import(locate(`${FOLDER}/tfjs-backend-wasm/dist/tf-backend-wasm.min.js`));
  return globalThis.tf;
}

function attend(tf, { shape, query, key, value }) {
  const { batch, heads, kvHeads, queries, keys, dim, causal, left, cache } = shape;
  if (!isPlain(shape) || heads !== kvHeads || Number.isFinite(left) || cache)
    throw new Error("written here for plain attention only");
  if (heads * queries * keys > MOST_SCORES) throw new Error("the score matrix does not fit its memory");
  const mask = causal && tf.tensor2d(lowerTriangle(queries), [queries, keys]);
  const scale = tf.scalar(1 / Math.sqrt(dim));
  let output;
  const call = async () => {
    const result = tf.tidy(() => {
      const place = (data, count, length) => tf.tensor4d(data, [batch, count, length, dim]);
      const scores = tf.mul(tf.matMul(place(query, heads, queries), place(key, kvHeads, keys), false, true), scale);
      const probs = tf.softmax(mask ? tf.add(scores, mask) : scores);
      return tf.matMul(probs, place(value, kvHeads, keys));
    });
    output = await result.data();
    result.dispose();
  };
  const row = ({ b, h, i }) => output.subarray(((b * heads + h) * queries + i) * dim).subarray(0, dim);
  return { call, row, release: () => tf.dispose([scale, ...(mask ? [mask] : [])]) };
}

function lowerTriangle(length) {
  return Float32Array.from({ length: length * length }, (_, k) => (k % length > Math.floor(k / length) ? -1e30 : 0));
}
