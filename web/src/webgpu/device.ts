import type { AdapterReport } from "../backend.js";
import { gpuOfThisRealm } from "../gpuOptions.js";
import { lanesTogether } from "./lanes.js";
import type { Limits } from "./plan.js";
import { DeviceLostError, HeadwiseError, OutOfMemoryError, UnsupportedError } from "../errors.js";

export interface DeviceOptions {
  /** A device of the caller's: used, never destroyed. */
  readonly device?: GPUDevice | undefined;
  /** Where there is no navigator.gpu. */
  readonly gpu?: GPU | undefined;
  readonly profile?: boolean;
}

/** Features that make something possible or faster, asked for where the adapter has them. */
const FEATURES = ["shader-f16", "subgroups", "timestamp-query"] as const;

/** Limits that decide how large a call may be; the device gets all that the adapter has. */
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupsPerDimension",
  "maxStorageBuffersPerShaderStage",
] as const;

/** Bindings of the attention kernels. */
const STORAGE_BUFFERS = 8;

/** A GPUDevice in use, and what happens to it. */
export class Device {
  readonly gpuDevice: GPUDevice;
  readonly adapter: AdapterReport;
  /** Whether kernels are timed. */
  readonly timed: boolean;
  readonly #owned: boolean;
  /** The process dies in Node if the GPU object is collected while its devices are in use. */
  readonly #gpu: GPU | undefined;
  #lost: GPUDeviceLostInfo | undefined;
  #together: 1 | 4 | 8 = 1;

  constructor(gpuDevice: GPUDevice, info: GPUAdapterInfo, owned: boolean, profile: boolean, gpu: GPU | undefined) {
    this.gpuDevice = gpuDevice;
    this.adapter = adapterReport(gpuDevice, info);
    this.timed = profile && gpuDevice.features.has("timestamp-query");
    this.#owned = owned;
    this.#gpu = gpu;
    void gpuDevice.lost.then((info) => {
      this.#lost = info;
    });
  }

  get limits(): GPUSupportedLimits {
    return this.gpuDevice.limits;
  }

  /** What plans must know. */
  get capabilities(): Limits {
    const { maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup } = this.limits;
    const { maxComputeWorkgroupsPerDimension, maxStorageBufferBindingSize, maxBufferSize } = this.limits;
    return {
      maxComputeWorkgroupStorageSize,
      maxComputeInvocationsPerWorkgroup,
      maxComputeWorkgroupsPerDimension,
      maxStorageBufferBindingSize,
      maxBufferSize,
      together: this.#together,
      halves: this.gpuDevice.features.has("shader-f16"),
    };
  }

  /** Finds out what the adapter does not tell. */
  async explore(operation: string, info: GPUAdapterInfo): Promise<this> {
    this.#together = await this.whileAlive(operation, lanesTogether(operation, this.gpuDevice, info));
    return this;
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  get owned(): boolean {
    return this.#owned;
  }

  /** The object that the device came from, to ask for another. */
  get gpu(): GPU | undefined {
    return this.#gpu;
  }

  /** `promise`, or a DeviceLostError as soon as the device is lost: some promises of a lost device never settle. */
  async whileAlive<T>(operation: string, promise: Promise<T>): Promise<T> {
    const lost = this.gpuDevice.lost.then((info): never => {
      throw lossError(operation, info);
    });
    try {
      return await Promise.race([promise, lost]);
    } catch (error) {
      throw await this.explain(operation, error);
    }
  }

  /** The error to throw for one that a lost device may have caused: it answers everything with errors of its own. */
  async explain(operation: string, error: unknown): Promise<unknown> {
    if (HeadwiseError.is(error) && error.code !== "INTERNAL") return error;
    // what the loss itself rejected may be ahead of `lost`
    const info = this.#lost ?? (await Promise.race([this.gpuDevice.lost, nextTask()]));
    return info ? lossError(operation, info) : error;
  }

  assertAlive(operation: string): void {
    if (this.#lost) throw lossError(operation, this.#lost);
  }

  /** Ends a device of our own; one of the caller's lives on. */
  release(): void {
    if (this.#owned) this.gpuDevice.destroy();
  }
}

function nextTask(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, 50, undefined));
}

function lossError(operation: string, info: GPUDeviceLostInfo): DeviceLostError {
  const detail = info.message ? `: ${info.message}` : "";
  return new DeviceLostError(`${operation}: the GPU device was lost (${info.reason})${detail}`, {
    hint: "Call again: an instance with a device of its own opens a new one.",
    cause: info,
  });
}

/** Opens a device, or takes the caller's. */
export async function openDevice(operation: string, options: DeviceOptions): Promise<Device> {
  if (options.device) return adopt(operation, options.device, options.profile ?? false, options.gpu);
  const gpu = options.gpu ?? gpuOfThisRealm();
  if (!gpu)
    throw new UnsupportedError(`${operation}: this environment has no navigator.gpu`, {
      hint: "In Node, give `gpu: create([])` of the npm package webgpu.",
    });
  const adapter = await requestAdapter(operation, gpu);
  const gpuDevice = await requestDevice(operation, adapter);
  return new Device(gpuDevice, adapter.info, true, options.profile ?? false, gpu).explore(operation, adapter.info);
}

/** Some browsers throw where they distrust the driver, instead of giving none. */
async function requestAdapter(operation: string, gpu: GPU): Promise<GPUAdapter> {
  let refusal = {};
  try {
    const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
    if (adapter) return adapter;
  } catch (cause) {
    refusal = { cause };
  }
  throw new UnsupportedError(`${operation}: no GPU adapter is available`, {
    ...refusal,
    hint: "The browser or its graphics driver offers none; use the wasm backend.",
  });
}

async function requestDevice(operation: string, adapter: GPUAdapter): Promise<GPUDevice> {
  if (adapter.limits.maxStorageBuffersPerShaderStage < STORAGE_BUFFERS) throw tooFewBuffers(operation, adapter.limits);
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, largest(adapter.limits[name])]));
  const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name));
  try {
    return await adapter.requestDevice({ label: "headwise", requiredFeatures, requiredLimits });
  } catch (cause) {
    throw new UnsupportedError(`${operation}: the GPU adapter refused a device`, { cause });
  }
}

/** Buffer sizes are whole words; an adapter may state the largest integer. */
function largest(limit: number): number {
  return limit - (limit % 4 === 0 || limit < 2 ** 16 ? 0 : limit % 4);
}

async function adopt(operation: string, gpuDevice: GPUDevice, profile: boolean, gpu: GPU | undefined): Promise<Device> {
  if (gpuDevice.limits.maxStorageBuffersPerShaderStage < STORAGE_BUFFERS)
    throw tooFewBuffers(operation, gpuDevice.limits);
  const info = gpuDevice.adapterInfo;
  return new Device(gpuDevice, info, false, profile, gpu).explore(operation, info);
}

function tooFewBuffers(operation: string, limits: GPUSupportedLimits): UnsupportedError {
  return new UnsupportedError(
    `${operation}: the kernels need a maxStorageBuffersPerShaderStage of ${STORAGE_BUFFERS}, ` +
      `got ${limits.maxStorageBuffersPerShaderStage}`,
  );
}

function adapterReport(device: GPUDevice, info: GPUAdapterInfo | undefined): AdapterReport {
  return {
    vendor: info?.vendor ?? "",
    architecture: info?.architecture ?? "",
    device: info?.device ?? "",
    description: info?.description ?? "",
    fallback: (info as { isFallbackAdapter?: boolean } | undefined)?.isFallbackAdapter ?? false,
    features: FEATURES.filter((name) => device.features.has(name)),
    limits: Object.fromEntries(LIMITS.map((name) => [name, device.limits[name]])),
  };
}

/** The library's error for one that an error scope caught. */
export function scopeError(operation: string, error: GPUError): HeadwiseError {
  const kind = Object.prototype.toString.call(error).slice("[object ".length, -1);
  if (kind === "GPUOutOfMemoryError" || /out of memory/i.test(error.message))
    return new OutOfMemoryError(`${operation}: the GPU is out of memory: ${error.message}`, {
      hint: "Split the call, ask for fewer results, or use the wasm backend.",
      cause: error,
    });
  return new HeadwiseError(`${operation}: the GPU refused the call: ${error.message}`, { cause: error });
}
