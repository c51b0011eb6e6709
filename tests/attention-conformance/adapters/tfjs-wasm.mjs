// TensorFlow.js has no attention: this is the formula in its operators, in the plainest way.

export const name = "tfjs wasm";
export const packages = ["@tensorflow/tfjs", "@tensorflow/tfjs-backend-wasm"];

export async function open({ load, assets, isNode }) {
  const [tf, wasm] = await load(...packages);
  wasm.setThreadsCount(1);
  if (!isNode) wasm.setWasmPaths(assets("@tensorflow/tfjs-backend-wasm/dist/"));
  if (!(await tf.setBackend("wasm"))) throw new Error("the wasm backend does not start");
  const place = ({ data, shape, dtype }) => tf.tensor(data, shape, dtype);
  const scoresOf = (q, k, { mask, bias, causal, scale, softcap }) => {
    const [queries, keys, dim] = [q.shape[2], k.shape[2], q.shape[3]];
    let s = tf.mul(tf.matMul(q, k, false, true), scale ?? 1 / Math.sqrt(dim));
    if (softcap) s = tf.mul(tf.tanh(tf.div(s, softcap)), softcap);
    if (bias) s = tf.add(s, place(bias));
    const hide = (visible) => (s = tf.where(tf.broadcastTo(visible, s.shape), s, tf.fill(s.shape, -Infinity)));
    if (mask) hide(place(mask));
    if (causal) hide(tf.greaterEqual(tf.range(0, queries).reshape([queries, 1]), tf.range(0, keys)));
    return s;
  };
  const attend = (q, k, v, options) => tf.matMul(tf.softmax(scoresOf(q, k, options)), v);
  const results = async (compute) => {
    const tensors = tf.tidy(compute);
    const read = await Promise.all(
      Object.entries(tensors).map(async ([key, tensor]) => [key, { data: await tensor.data() }]),
    );
    tf.dispose(tensors);
    return Object.fromEntries(read);
  };
  return {
    version: tf.version.tfjs,
    offers: ["causal", "causal upper-left", "boolean mask", "bias", "softcap", "lse", "probs", "gradients"],
    emptyRows: "nan",
    unpromised: ["isolation", "empty rows", "zero extents"], // it documents operators, not attention
    attention: ({ query, key, value, options, returns }) =>
      results(() => {
        const [q, k, v] = [query, key, value].map(place);
        const output = attend(q, k, v, options);
        const lse = returns.lse && { lse: tf.logSumExp(scoresOf(q, k, options), -1) };
        return { output, ...lse, ...(returns.probs && { probs: tf.softmax(scoresOf(q, k, options)) }) };
      }),
    gradients: ({ query, key, value, dOutput, options }) =>
      results(() => {
        const gradients = tf.grads((q, k, v) => attend(q, k, v, options));
        const [dQuery, dKey, dValue] = gradients([query, key, value].map(place), place(dOutput));
        return { dQuery, dKey, dValue };
      }),
  };
}
