// headwise on WebGPU through its public API. Every case has a device of its own, so its first call compiles.

import { cache, kindOf, layer, optionsOf, ragged, rowOf, withFormulas } from "../peers/headwise.mjs";
import { fromHalves, openDevice, toHalves, upload } from "./device.mjs";

export async function openHeadwise(problem) {
  const { createAttention } = await import("/dist/webgpu.js");
  const { formula } = await import("/dist/formula.js");
  const { device } = await openDevice();
  const hw = await createAttention({ device });
  const timed = await createAttention({ device, profile: true });
  const { shape } = problem;
  const kind = shape.small ? submitted(device) : shape.layer ? layer : shape.cache ? cache : shape.lengths ? ragged : onGpu(device); // oxfmt-ignore
  const given = withFormulas(problem, formula);
  const [own, measured] = [await kind(hw, given), await kind(timed, given)];
  return {
    call: own.call,
    rows: own.rows ?? (async () => own.row),
    settle: () => device.queue.onSubmittedWorkDone(),
    async kernelTimes() {
      await measured.call();
      await measured.call();
      return timed.gpu.times;
    },
    release() {
      hw.dispose();
      timed.dispose();
      device.destroy();
    },
  };
}

/** A call that is over when its commands are submitted. Its tensors and weights lie on the GPU, and its result stays there. */
const submitted = (device) => async (hw, problem) => {
  const place = ({ data, shape }) => ({ buffer: upload(device, data), shape, dtype: "float32" });
  return (await kindOf(problem.shape)(hw, problem, undefined, place)).submitted(place);
};

/** Attention of tensors on the GPU whose results stay there. */
const onGpu = (device) => (hw, problem) => {
  const { shape, query, key, value, mask } = problem;
  const { batch, heads, kvHeads, queries, keys, dim, half } = shape;
  const place = (data, count, length) => ({
    buffer: upload(device, half ? toHalves(data) : data),
    shape: [batch, count, length, dim],
    dtype: half ? "float16" : "float32",
  });
  const tensors = [place(query, heads, queries), place(key, kvHeads, keys), place(value, kvHeads, keys)];
  const options = { ...optionsOf(problem), ...(mask && { mask: { ...mask, dtype: "bool" } }), location: "gpu" };
  let result;
  const dispose = () => {
    for (const tensor of [result?.output, result?.topK?.values, result?.topK?.indices]) tensor?.dispose();
  };
  return {
    async call() {
      dispose();
      result = await hw.scaledDotProductAttention(...tensors, options); // is submitted
      await device.queue.onSubmittedWorkDone();
    },
    async rows() {
      const data = await result.output.data();
      const numbers = half ? fromHalves(data) : data;
      return (row) => rowOf(shape)(numbers, row);
    },
  };
};
