import { isPlain } from "../harness/cases.mjs";

const FOLDER = "/tests/bench/node_modules/@tensorflow";

/** TensorFlow.js on its WebGPU backend. It has no attention, so the formula is written out. */
export async function open() {
  await import(`${FOLDER}/tfjs-core/dist/tf-core.min.js`);
  await import(`${FOLDER}/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js`);
  const { tf } = globalThis;
  if (!(await tf.setBackend("webgpu"))) throw new Error("its WebGPU backend does not start");
  await tf.ready();
  return {
    async forms({ shape, query, key, value }) {
      const { batch, heads, kvHeads, queries, keys, dim, causal, left, cache, half } = shape;
      if (!isPlain(shape) || heads !== kvHeads || Number.isFinite(left) || cache || causal || half)
        throw new Error("written here for plain float32 attention only");
      const place = (data, count, length) => tf.tensor4d(data, [batch, count, length, dim]);
      return [
        {
          form: "matMul, softmax, matMul",
          open: async () => attend(tf, [place(query, heads, queries), place(key, kvHeads, keys), place(value, kvHeads, keys)], shape), // oxfmt-ignore
        },
      ];
    },
  };
}

function attend(tf, [query, key, value], { heads, queries, dim }) {
  const scale = tf.scalar(1 / Math.sqrt(dim));
  let output;
  return {
    async call() {
      output?.dispose();
      output = tf.tidy(() => tf.matMul(tf.softmax(tf.mul(tf.matMul(query, key, false, true), scale)), value));
      const backend = tf.backend();
      backend.ensureCommandEncoderReady();
      backend.endComputePassEncoder();
      backend.submitQueue();
      await backend.queue.onSubmittedWorkDone();
    },
    async rows() {
      const data = await output.data();
      return ({ b, h, i }) => data.subarray(((b * heads + h) * queries + i) * dim).subarray(0, dim);
    },
    release: () => tf.dispose([query, key, value, scale, output]),
  };
}
