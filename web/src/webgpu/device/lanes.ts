import type { Together } from "../plan/limits.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import { ErrorScopes, scopeError } from "./errorScopes.js";
import { pipelineOf } from "./pipelines.js";

/**
 * How many neighbouring invocations of a workgroup are always neighbours in one subgroup: 16, 8 or 4. It is 1 if there are
 * no subgroups, or if they order invocations differently.
 */
export async function lanesTogether(operation: string, device: GPUDevice, info: GPUAdapterInfo): Promise<Together> {
  const smallest = device.features.has("subgroups") ? (info.subgroupMinSize ?? 0) : 0;
  if (smallest < 4) return 1;
  const sizes = await sizesInPlace(operation, device);
  if (sizes.some((size) => size < smallest)) return 1;
  return smallest < 8 ? 4 : smallest < 16 ? 8 : 16;
}

/**
 * For each invocation the size of its subgroup, or 0 if its place there differs from its place in the workgroup; see
 * lanes.wgsl.
 */
async function sizesInPlace(operation: string, device: GPUDevice): Promise<Uint32Array> {
  const { pipeline, layout } = await pipelineOf(operation, device, flatKernel("lanes"));
  const size = 4 * FLAT_WORKGROUP;
  const made: GPUBuffer[] = [];
  const make = (usage: number): GPUBuffer => {
    const buffer = device.createBuffer({ size, usage });
    made.push(buffer);
    return buffer;
  };
  const scopes = new ErrorScopes(device);
  const submit = () => {
    const sizes = make(0x80 | 0x4); // STORAGE | COPY_SRC
    const readback = make(0x1 | 0x8); // MAP_READ | COPY_DST
    const encoder = device.createCommandEncoder({ label: "lanes" });
    const pass = encoder.beginComputePass({ label: "lanes" });
    pass.setPipeline(pipeline);
    const entries = [{ binding: 0, resource: { buffer: sizes } }];
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(sizes, 0, readback, 0, size);
    device.queue.submit([encoder.finish()]);
    return { readback, mapping: readback.mapAsync(0x1) }; // READ
  };
  try {
    const { readback, mapping } = scopes.around(submit);
    const [error] = await Promise.all([scopes.first(), mapping.catch(() => undefined)]);
    if (error) throw scopeError(operation, error);
    await mapping;
    return new Uint32Array(readback.getMappedRange().slice(0));
  } finally {
    for (const buffer of made) buffer.destroy();
  }
}
