import { HeadwiseError } from "../errors/errors.js";
import type { Kernel } from "./kernel.js";
import { bindingsOf, kernelKey, shaderSource, type Access } from "./shader.js";

const COMPUTE_STAGE = 0x4;
const BUFFER_TYPE: Readonly<Record<Access, GPUBufferBindingType>> = {
  uniform: "uniform",
  read: "read-only-storage",
  write: "storage",
};

/** Pipelines are kept as long as their device, so another instance on it does not compile them again. */
const pipelinesOf = new WeakMap<GPUDevice, Map<string, Promise<GPUComputePipeline>>>();

/** The pipeline of a kernel. It is compiled asynchronously when it is first used. */
export function pipelineOf(operation: string, device: GPUDevice, kernel: Kernel): Promise<GPUComputePipeline> {
  const pipelines = pipelinesOf.get(device) ?? new Map<string, Promise<GPUComputePipeline>>();
  pipelinesOf.set(device, pipelines);
  const key = kernelKey(kernel);
  let pipeline = pipelines.get(key);
  if (!pipeline) {
    pipeline = compile(operation, device, kernel);
    pipelines.set(key, pipeline);
    // A failed pipeline is not kept: the device may have been lost in the meantime.
    pipeline.catch(() => pipelines.delete(key));
  }
  return pipeline;
}

async function compile(operation: string, device: GPUDevice, kernel: Kernel): Promise<GPUComputePipeline> {
  const label = kernel.name;
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ label, code: shaderSource(kernel) });
  const entries = Object.entries(bindingsOf(kernel.name)).map(([binding, access]) => ({
    binding: Number(binding),
    visibility: COMPUTE_STAGE,
    buffer: { type: BUFFER_TYPE[access] },
  }));
  const bindGroupLayout = device.createBindGroupLayout({ label, entries });
  const layout = device.createPipelineLayout({ label, bindGroupLayouts: [bindGroupLayout] });
  const invalid = device.popErrorScope();
  try {
    return await device.createComputePipelineAsync({ label, layout, compute: { module, entryPoint: "main" } });
  } catch (cause) {
    throw new HeadwiseError(`${operation}: kernel ${label} does not compile: ${await messages(module)}`, { cause });
  } finally {
    await invalid; // `messages` reports the error of the shader module
  }
}

async function messages(module: GPUShaderModule): Promise<string> {
  const info = await module.getCompilationInfo();
  return info.messages.map(({ lineNum, linePos, message }) => `${lineNum}:${linePos} ${message}`).join("; ");
}
