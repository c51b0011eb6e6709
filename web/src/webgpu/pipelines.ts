import { HeadwiseError } from "../errors/errors.js";
import type { Kernel } from "./kernel.js";
import { bindingsOf, kernelKey, shaderSource, type Access } from "./shader.js";

const COMPUTE_STAGE = 0x4;
const BUFFER_TYPE: Readonly<Record<Access, GPUBufferBindingType>> = {
  uniform: "uniform",
  read: "read-only-storage",
  write: "storage",
};

/** Kept for as long as the device is: another instance on it compiles nothing twice. */
const pipelinesOf = new WeakMap<GPUDevice, Map<string, Promise<GPUComputePipeline>>>();

/** The pipeline of a kernel, compiled off the main thread on its first use. */
export function pipelineOf(operation: string, device: GPUDevice, kernel: Kernel): Promise<GPUComputePipeline> {
  const pipelines = pipelinesOf.get(device) ?? new Map<string, Promise<GPUComputePipeline>>();
  pipelinesOf.set(device, pipelines);
  const key = kernelKey(kernel);
  let pipeline = pipelines.get(key);
  if (!pipeline) {
    pipeline = compile(operation, device, kernel);
    pipelines.set(key, pipeline);
    // a failure, such as a device lost meanwhile, is not kept
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
    await invalid; // the module's own error is told by `messages`
  }
}

async function messages(module: GPUShaderModule): Promise<string> {
  const info = await module.getCompilationInfo();
  return info.messages.map(({ lineNum, linePos, message }) => `${lineNum}:${linePos} ${message}`).join("; ");
}
