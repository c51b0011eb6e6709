// node calibrating.mjs: calls until the calibration has opened a GPU, and then has nothing left to do. The process must end
// by itself. Prints the state of the calibration at that moment.
import { createAttention } from "headwise";
import { create, globals } from "webgpu";

Object.assign(globalThis, globals);
const real = create([]);
/** The adapter does not say that it computes on the CPU. */
const gpu = {
  async requestAdapter(options) {
    const adapter = await real.requestAdapter(options);
    const info = { vendor: "test", architecture: "", device: "", description: "" };
    const { features, limits } = adapter;
    return { info, features, limits, requestDevice: (wanted) => adapter.requestDevice(wanted) };
  },
};
const hw = await createAttention({ threads: 1, gpu });
const x = { data: new Float32Array(16 * 1024 * 64), shape: [1, 16, 1024, 64] };
while (hw.report.calibration.state === "waiting") await hw.scaledDotProductAttention(x, x, x);
while (!hw.gpu.device) await new Promise((resolve) => setTimeout(resolve, 5));
console.log(JSON.stringify({ state: hw.report.calibration.state }));
