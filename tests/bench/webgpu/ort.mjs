// ONNX Runtime Web on its WebGPU engine: the graphs of the wasm bench, with inputs and output on its own device.

import { graphsOf } from "../peers/onnx.mjs";
import { onnxModel, TYPE_NAMES } from "../../attention-conformance/adapters/onnxModel.mjs";
import { upload } from "./device.mjs";

const FOLDER = "/tests/bench/node_modules/onnxruntime-web/dist";

/**
 * @param {object} [options]
 * @param {string} [options.folder] - the address of the folder `dist` of onnxruntime-web
 * @param {object} [options.wasm] - more settings of its `env.wasm`
 */
export async function open({ folder = FOLDER, wasm = {} } = {}) {
  const ort = await import(`${folder}/ort.webgpu.min.mjs`);
  ort.env.logLevel = "error";
  ort.env.webgpu.powerPreference = "high-performance"; // as headwise
  Object.assign(ort.env.wasm, { wasmPaths: `${folder}/`, ...wasm });
  return {
    async forms(problem) {
      if (problem.shape.half) throw new Error("its graphs here are float32");
      return graphsOf(problem.shape).map(([form, graph]) => ({
        form,
        open: () => openSession(ort, graph(problem), problem.shape),
      }));
    },
  };
}

async function openSession(ort, { feeds, output, ...graph }, { heads, queries, dim }) {
  const inputs = feeds.map(({ name, type, shape: extents }) => ({ name, type, shape: extents }));
  const outputs = graph.outputs ?? ["Y"];
  const session = await ort.InferenceSession.create(onnxModel({ ...graph, inputs, outputs }), {
    executionProviders: ["webgpu"],
    preferredOutputLocation: "gpu-buffer",
    extra: { session: { disable_cpu_ep_fallback: "1" } }, // a case that it would compute on the CPU counts as not computed
  });
  const device = await ort.env.webgpu.device;
  // Integers are lengths, which it reads on the CPU.
  const tensors = Object.fromEntries(
    feeds.map(({ name, type, data, shape: dims }) => [
      name,
      type
        ? new ort.Tensor(TYPE_NAMES[type], data, dims)
        : ort.Tensor.fromGpuBuffer(upload(device, data), { dataType: "float32", dims }),
    ]),
  );
  let results = {};
  const dispose = () => {
    for (const tensor of Object.values(results)) tensor.dispose();
    results = {};
  };
  const width = heads * dim;
  const rows = {
    packed:
      (data) =>
      ({ b, h, i }) =>
        data.subarray((b * queries + i) * width + h * dim).subarray(0, dim),
    heads:
      (data) =>
      ({ b, h, i }) =>
        data.subarray(((b * heads + h) * queries + i) * dim).subarray(0, dim),
    layer:
      (data) =>
      ({ i }) =>
        data.subarray(i * width, (i + 1) * width),
  };
  const submit = async () => {
    dispose();
    results = await session.run(tensors, outputs);
  };
  return {
    device,
    submit,
    async call() {
      await submit();
      await device.queue.onSubmittedWorkDone();
    },
    rows: async () => rows[output](await results.Y.getData()),
    release() {
      dispose();
      void session.release();
    },
  };
}
