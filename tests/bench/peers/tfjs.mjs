import { isPlain } from "../harness/cases.mjs";
import { gradientRow } from "./headwise.mjs";

const FOLDER = "tests/bench/node_modules/@tensorflow";

/** Most numbers of a score matrix that fits its memory. */
const MOST_SCORES = 150e6;

/** TensorFlow.js on its wasm backend. It has no attention, so the formula is written out. */
export async function open({ threads, locate, isNode }) {
  const tf = await load(locate, isNode);
  tf.wasm.setThreadsCount(threads);
  if (!isNode) tf.wasm.setWasmPaths(locate(`${FOLDER}/tfjs-backend-wasm/dist/`));
  if (!(await tf.setBackend("wasm"))) throw new Error("its wasm backend does not start");
  const open = ({ shape: { gradient } }) => (gradient ? differentiate : attend);
  return { forms: (problem) => [{ form: "matMul, softmax, matMul", open: () => open(problem)(tf, problem) }] };
}

async function load(locate, isNode) {
  if (isNode) {
    const { default: core } = await import("@tensorflow/tfjs"); // has the gradients, which tfjs-core leaves out
    const { default: wasm } = await import("@tensorflow/tfjs-backend-wasm");
    return { ...core, wasm };
  }
  await import(locate(`${FOLDER}/tfjs/dist/tf.min.js`));
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

/** The forward and its gradient, by tf.grads of the written-out formula. */
function differentiate(tf, { shape, query, key, value, dOutput }) {
  const { batch, heads, queries, dim, causal, gradient } = shape;
  if (gradient !== "whole") throw new Error("it computes the gradient together with the forward");
  const mask = causal && tf.tensor2d(lowerTriangle(queries), [queries, queries]);
  const scale = tf.scalar(1 / Math.sqrt(dim));
  const attention = (q, k, v) => {
    const scores = tf.mul(tf.matMul(q, k, false, true), scale);
    return tf.matMul(tf.softmax(mask ? tf.add(scores, mask) : scores), v);
  };
  const gradients = tf.grads(attention);
  let results;
  const call = async () => {
    const tensors = tf.tidy(() => {
      const [q, k, v, dO] = [query, key, value, dOutput].map((data) => tf.tensor4d(data, [batch, heads, queries, dim]));
      return gradients([q, k, v], dO);
    });
    results = await Promise.all(tensors.map((tensor) => tensor.data()));
    tf.dispose(tensors);
  };
  const row = (each) => gradientRow(shape, results, each);
  return { call, row, release: () => tf.dispose([scale, ...(mask ? [mask] : [])]) };
}

function lowerTriangle(length) {
  return Float32Array.from({ length: length * length }, (_, k) => (k % length > Math.floor(k / length) ? -1e30 : 0));
}
