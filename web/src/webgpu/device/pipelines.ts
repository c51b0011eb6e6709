import { HeadwiseError } from "../../base/errors.js";
import type { Kernel } from "../kernels/kernel.js";
import { bindingsOf, kernelKey, shaderSource, type Access } from "../kernels/shader.js";
import { ErrorScopes, isOutOfMemory, scopeError } from "./errorScopes.js";

const COMPUTE_STAGE = 0x4;
const BUFFER_TYPE: Readonly<Record<Access, GPUBufferBindingType>> = {
  uniform: "uniform",
  read: "read-only-storage",
  write: "storage",
};

/** A compiled kernel. */
export interface Compiled {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  /** A number that no other pipeline has. */
  readonly id: number;
}

/** The pipelines of a device, by the kernels' keys. */
interface Pipelines {
  readonly ready: Map<string, Compiled>;
  readonly compiling: Map<string, Promise<Compiled>>;
  /** The keys in `ready` of kernels with formulas. The one that was not used for the longest time is first. */
  readonly ofFormulas: Set<string>;
}

/** Most kernels with formulas that are kept, because programs may make formulas without end. */
const MOST_OF_FORMULAS = 64;

let pipelines = 0;

/** Devices that say that they can compute with float16, but did not compile a kernel with it. */
const withoutHalves = new WeakSet<GPUDevice>();

/** Whether kernels may compute with float16. */
export function hasHalves(device: GPUDevice): boolean {
  return device.features.has("shader-f16") && !withoutHalves.has(device);
}

/** Pipelines are kept as long as their device, so another instance on it does not compile them again. */
const pipelinesOf = new WeakMap<GPUDevice, Pipelines>();

function pipelinesOn(device: GPUDevice): Pipelines {
  const known = pipelinesOf.get(device);
  if (known) return known;
  const made = { ready: new Map(), compiling: new Map(), ofFormulas: new Set<string>() };
  pipelinesOf.set(device, made);
  return made;
}

/** The pipeline of a kernel if it is compiled. */
export function readyPipeline(device: GPUDevice, kernel: Kernel): Compiled | undefined {
  const known = pipelinesOn(device);
  const key = kernelKey(kernel);
  const found = known.ready.get(key);
  if (found && kernel.formula) keep(known, kernel, key, found);
  return found;
}

/** Keeps a pipeline, and drops a pipeline of other formulas if there are too many. */
function keep({ ready, ofFormulas }: Pipelines, kernel: Kernel, key: string, made: Compiled): void {
  ready.set(key, made);
  if (!kernel.formula) return;
  ofFormulas.delete(key);
  ofFormulas.add(key);
  if (ofFormulas.size <= MOST_OF_FORMULAS) return;
  const oldest = ofFormulas.values().next().value!;
  ofFormulas.delete(oldest);
  ready.delete(oldest);
}

/** The pipeline of a kernel. It is compiled asynchronously when it is first used. */
export async function pipelineOf(operation: string, device: GPUDevice, kernel: Kernel): Promise<Compiled> {
  const { compiling } = pipelinesOn(device);
  const key = kernelKey(kernel);
  const found = readyPipeline(device, kernel) ?? compiling.get(key);
  if (found) return found;
  const compiled = compile(operation, device, kernel);
  compiling.set(key, compiled);
  try {
    const made = await compiled;
    keep(pipelinesOn(device), kernel, key, made);
    return made;
  } finally {
    compiling.delete(key); // a failed pipeline is not kept: the device may have been lost in the meantime
  }
}

async function compile(operation: string, device: GPUDevice, kernel: Kernel): Promise<Compiled> {
  const label = kernel.name;
  const scopes = new ErrorScopes(device);
  const { module, layout, compiling } = scopes.around(() => {
    const module = device.createShaderModule({ label, code: shaderSource(kernel) });
    const entries = bindingsOf(kernel.name).map(({ binding, access }) => ({
      binding,
      visibility: COMPUTE_STAGE,
      buffer: { type: BUFFER_TYPE[access] },
    }));
    const layout = device.createBindGroupLayout({ label, entries });
    const pipelineLayout = device.createPipelineLayout({ label, bindGroupLayouts: [layout] });
    const compute = { module, entryPoint: "main" };
    return { module, layout, compiling: device.createComputePipelineAsync({ label, layout: pipelineLayout, compute }) };
  });
  try {
    return { pipeline: await compiling, layout, id: pipelines++ };
  } catch (cause) {
    const error = await scopes.first();
    if (error && isOutOfMemory(error)) throw scopeError(operation, error);
    if (kernel.halves) withoutHalves.add(device);
    throw new HeadwiseError(`${operation}: kernel ${label} does not compile: ${await messages(module)}`, { cause });
  }
}

async function messages(module: GPUShaderModule): Promise<string> {
  const info = await module.getCompilationInfo();
  return info.messages.map(({ lineNum, linePos, message }) => `${lineNum}:${linePos} ${message}`).join("; ");
}
