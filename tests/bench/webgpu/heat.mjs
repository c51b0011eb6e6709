// Keeps a GPU at the clock that it has under load. An idle GPU saves power: an H100 drops from 1980 to 345 MHz within 0.1 s,
// and needs about a second of work to come back. Without this, a case's time says how long its preparation took.

import { multiplyAdds } from "./probes.mjs";

const STEPS_OF_FIRST = 64;
/** One pass takes about so long. The pause between two passes is much shorter, so the GPU does not rest. */
const PASS_MILLISECONDS = 4;
const MOST_STEPS = 2 ** 20;

/** Makes `heat(milliseconds)`, which keeps the device busy for so long. */
export async function openHeater(device) {
  const module = device.createShaderModule({ code: multiplyAdds("f32") });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
  const uniform = device.createBuffer({ size: 16, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
  const sink = device.createBuffer({ size: 1024, usage: GPUBufferUsage.STORAGE });
  const entries = [uniform, sink].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  let steps = STEPS_OF_FIRST;

  async function pass() {
    device.queue.writeBuffer(uniform, 0, Uint32Array.of(steps, 0, 0, 0));
    const encoder = device.createCommandEncoder();
    const compute = encoder.beginComputePass();
    compute.setPipeline(pipeline);
    compute.setBindGroup(0, group);
    compute.dispatchWorkgroups(1024);
    compute.end();
    const start = performance.now();
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    const took = performance.now() - start;
    if (took < PASS_MILLISECONDS / 2) steps = Math.min(2 * steps, MOST_STEPS);
    else if (took > 2 * PASS_MILLISECONDS) steps = Math.max(1, steps / 2);
  }

  return async function heat(milliseconds) {
    const end = performance.now() + milliseconds;
    while (performance.now() < end) await pass();
  };
}
