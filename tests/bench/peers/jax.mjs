import { gradientRow } from "./headwise.mjs";
import { packHeads } from "../harness/problem.mjs";

const ENTRY = "tests/bench/node_modules/@jax-js/jax/dist/index.js";

/** jax-js on its wasm backend. In Node it has one thread. */
export async function open({ threads, locate, isNode }) {
  if (isNode && !Iterator.prototype.map) throw new Error("it needs Node 22 or newer (--node 22)");
  if (isNode && threads > 1) throw new Error("it has one thread in Node");
  if (isNode) hideWorker();
  const jax = await import(locate(ENTRY));
  await jax.init("wasm");
  jax.defaultDevice("wasm");
  const forms = ({ shape }) => (shape.gradient === "whole" ? Object.keys(FORMS) : []);
  return {
    forms: (problem) => forms(problem).map((form) => ({ form, open: () => differentiate(jax, FORMS[form], problem) })),
  };
}

/** Emscripten's programs define Worker in Node. jax-js would then make a pool of workers, which cannot run there. */
function hideWorker() {
  Object.defineProperty(globalThis, "Worker", { get: () => undefined, set: () => {} });
}

const FORMS = {
  grad: (jax, gradient) => gradient,
  "jit(grad)": (jax, gradient) => jax.jit(gradient),
};

/** The gradient of sum(attention · dOutput). Tensors are [batch, length, heads, dim]. */
function differentiate({ numpy, nn, grad, ...jax }, compile, { shape, query, key, value, dOutput }) {
  const { batch, heads, queries: length, dim, causal } = shape;
  const tensors = [query, key, value, dOutput].map((data) => packHeads(data, { batch, heads, length, dim }));
  const loss = (q, k, v, dO) => nn.dotProductAttention(q, k, v, { isCausal: causal }).mul(dO).sum();
  const gradient = compile(jax, grad(loss, { argnums: [0, 1, 2] }));
  let results;
  const call = async () => {
    const arrays = gradient(...tensors.map((data) => numpy.array(data).reshape([batch, length, heads, dim])));
    results = await Promise.all(arrays.map((array) => array.data()));
  };
  const unpacked = (data) => packHeads(data, { batch, heads: length, length: heads, dim });
  return {
    call,
    row: (row) => gradientRow(shape, results.map(unpacked), row),
    release: () => {},
  };
}
