// jax-js by its nn.dotProductAttention, and gradients by grad.

export const name = "jax-js wasm";
export const packages = ["@jax-js/jax"];

export async function open({ load, isNode, versionOf }) {
  if (isNode && !globalThis.Iterator?.prototype.map) throw new Error("it needs Node 22 or newer");
  if (isNode) Object.defineProperty(globalThis, "Worker", { get: () => undefined, set: () => {} }); // none of its own in Node
  const [jax] = await load("@jax-js/jax");
  await jax.init("wasm");
  jax.defaultDevice("wasm");
  const { numpy, nn, grad } = jax;
  const place = ({ data, shape }) => numpy.array(data).reshape(shape);
  const optionsOf = ({ mask, bias, causal, scale, window, keyLengths, queryLengths }) => ({
    ...(mask && { mask: place({ ...mask, data: Float32Array.from(mask.data) }).greater(0) }),
    ...(bias && { bias: place(bias) }),
    ...(causal && { isCausal: true }),
    ...(scale !== undefined && { scale }),
    ...(window && { localWindowSize: [window.left ?? 2 ** 30, window.right ?? 2 ** 30] }),
    ...(keyLengths && { keyValueSeqLengths: numpy.array(Int32Array.from(keyLengths)) }),
    ...(queryLengths && { querySeqLengths: numpy.array(Int32Array.from(queryLengths)) }),
  });
  return {
    version: versionOf("@jax-js/jax"),
    offers: ["gqa", "causal", "causal upper-left", "window", "boolean mask", "bias", "gradients"].concat([
      "key lengths",
      "query lengths",
    ]),
    layout: "BSHD",
    emptyRows: "nan",
    unpromised: ["isolation", "empty rows", "query lengths"], // its documents tell only the formula
    async attention({ query, key, value, options }) {
      const output = nn.dotProductAttention(place(query), place(key), place(value), optionsOf(options));
      return { output: { data: await output.data() } };
    },
    async gradients({ query, key, value, dOutput, options, gradients: asked }) {
      const names = ["dQuery", "dKey", "dValue"];
      const loss = (q, k, v, dO) => nn.dotProductAttention(q, k, v, optionsOf(options)).mul(dO).sum();
      const arrays = grad(loss, { argnums: [0, 1, 2] })(...[query, key, value, dOutput].map(place));
      const read = await Promise.all(arrays.map(async (array, k) => [names[k], { data: await array.data() }]));
      return Object.fromEntries(read.filter(([each]) => asked.includes(each)));
    },
  };
}
