import { describe } from "../../base/describe.js";
import { DeviceLostError, DisposedError, HeadwiseError, OptionError, UnsupportedError } from "../../base/errors.js";
import { DEFAULT_TILING, gpuOfThisRealm, requestAdapterOf, type Tiling } from "../../engine/gpuOptions.js";
import type { AdapterReport } from "../../engine/report.js";
import type { Limits, Together } from "../plan/limits.js";
import { Speed } from "../plan/pieces.js";
import { ErrorScopes, refusal } from "./errorScopes.js";
import { lanesTogether } from "./lanes.js";
import { Loss } from "./loss.js";
import { hasHalves } from "./pipelines.js";

export interface DeviceOptions {
  /** The caller's own device. We use it and never destroy it. */
  readonly device?: GPUDevice | undefined;
  /** A GPU object, for environments without navigator.gpu. */
  readonly gpu?: GPU | undefined;
  readonly profile?: boolean;
  readonly tiling?: "auto" | Tiling;
}

/** Optional features. They make something possible or faster, and are requested if the adapter has them. */
const FEATURES = ["shader-f16", "subgroups", "timestamp-query"] as const;

/** Limits that decide how large a call may be. The device gets the adapter's values. */
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupsPerDimension",
  "maxStorageBuffersPerShaderStage",
] as const;

type LimitName = (typeof LIMITS)[number] | "minStorageBufferOffsetAlignment";

/** Number of storage buffers of the attention kernels. */
const STORAGE_BUFFERS = 8;

/** Makes the error of every call on a device that has ended. */
type End = (operation: string) => HeadwiseError;

const COPY_DST = 0x8;

/** How long the report of a loss may come after an operation has failed because of it. */
const LOSS_MILLISECONDS = 50;

/** A GPUDevice as one instance uses it, until the device is lost or the instance is disposed. */
export class Device {
  readonly gpuDevice: GPUDevice;
  /** Its limits, read once: a call asks for them often, and each time an engine of JavaScript would ask the browser. */
  readonly limits: Readonly<Record<LimitName, number>>;
  readonly adapter: AdapterReport;
  /** Whether kernels can be timed: the device has timestamp-query. */
  readonly canTime: boolean;
  /** Whether kernels are timed from now on. */
  timed: boolean;
  /** The tiling of attention that plans use from now on. */
  tiling: Tiling = DEFAULT_TILING;
  readonly #owned: boolean;
  /**
   * Keeps the GPU object from being collected: in Node the process crashes if it is collected while its devices are in
   * use.
   */
  readonly #gpu: GPU | undefined;
  readonly #loss: Loss;
  readonly #forgetLoss: () => void;
  /** How fast long calls were computed. */
  readonly speed = new Speed();
  /** Rejects the calls that wait for the device. */
  readonly #waiting = new Set<(end: End) => void>();
  #end: End | undefined;
  #together: Together = 1;

  constructor(gpuDevice: GPUDevice, info: GPUAdapterInfo, owned: boolean, profile: boolean, gpu: GPU | undefined) {
    this.gpuDevice = gpuDevice;
    this.limits = limitsOf(gpuDevice);
    this.adapter = adapterReport(gpuDevice, info);
    this.canTime = gpuDevice.features.has("timestamp-query");
    this.timed = profile && this.canTime;
    this.#owned = owned;
    this.#gpu = gpu;
    this.#loss = Loss.of(gpuDevice);
    this.#forgetLoss = this.#loss.listen((info) => this.#endWith((operation) => lossError(operation, info)));
  }

  /** The limits and features that plans use. */
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
      halves: this.halves,
      tiling: this.tiling,
    };
  }

  /** Whether kernels may compute with float16. */
  get halves(): boolean {
    return hasHalves(this.gpuDevice);
  }

  /** Tests what the adapter does not report. */
  async explore(operation: string, info: GPUAdapterInfo): Promise<this> {
    this.#together = await this.whileAlive(operation, lanesTogether(operation, this.gpuDevice, info));
    return this;
  }

  get isLost(): boolean {
    return this.#loss.info !== undefined;
  }

  get owned(): boolean {
    return this.#owned;
  }

  /** The GPU object of the device. A new device can be requested from it. */
  get gpu(): GPU | undefined {
    return this.#gpu;
  }

  /**
   * Settles like `promise`, but rejects as soon as the device is lost or the instance is disposed. After that some
   * promises never settle.
   */
  async whileAlive<T>(operation: string, promise: Promise<T>): Promise<T> {
    let give!: (end: End) => void;
    const ended = new Promise<never>((_, reject) => {
      give = (end) => reject(end(operation));
    });
    if (this.#end) give(this.#end);
    else this.#waiting.add(give);
    try {
      return await Promise.race([promise, ended]);
    } catch (error) {
      throw await this.explain(operation, error);
    } finally {
      this.#waiting.delete(give);
    }
  }

  /**
   * The error to throw for an error that a lost device may have caused. On a lost device many operations fail with
   * other errors.
   */
  async explain(operation: string, error: unknown): Promise<HeadwiseError> {
    if (HeadwiseError.is(error) && error.code !== "INTERNAL") return error;
    if (this.#end) return this.#end(operation);
    // An operation may fail because of the loss before `lost` resolves.
    const info = await this.#loss.within(LOSS_MILLISECONDS);
    if (info) return lossError(operation, info);
    return HeadwiseError.is(error) ? error : refusal(operation, error);
  }

  assertAlive(operation: string): void {
    if (this.#end) throw this.#end(operation);
  }

  assertNotLost(operation: string): void {
    if (this.#loss.info) throw lossError(operation, this.#loss.info);
  }

  /** Rejects the running calls. Destroys our own device, but not the caller's. */
  end(): void {
    this.#forgetLoss();
    this.#endWith((operation) => new DisposedError(`${operation}: the instance was disposed`));
    if (this.#owned) this.gpuDevice.destroy();
  }

  #endWith(end: End): void {
    this.#end = end;
    for (const give of this.#waiting) give(end);
    this.#waiting.clear();
  }
}

function lossError(operation: string, info: GPUDeviceLostInfo): DeviceLostError {
  const detail = info.message ? `: ${info.message}` : "";
  return new DeviceLostError(`${operation}: the GPU device was lost (${info.reason})${detail}`, {
    hint:
      "Call again: an instance with a device of its own opens a new one. If the same call loses it again, it is too long " +
      'or too large for this GPU: split the queries, the heads or the batch, or use backend "wasm".',
    cause: info,
  });
}

/** Opens a device, or takes the caller's. */
export async function openDevice(operation: string, options: DeviceOptions): Promise<Device> {
  const device = await findDevice(operation, options);
  if (options.tiling && options.tiling !== "auto") device.tiling = options.tiling;
  return device;
}

async function findDevice(operation: string, options: DeviceOptions): Promise<Device> {
  const { device: given, profile = false } = options;
  if (given) return adopt(operation, given, profile, options.gpu);
  const gpu = options.gpu ?? gpuOfThisRealm();
  if (!gpu)
    throw new UnsupportedError(`${operation}: this environment has no navigator.gpu`, {
      hint: "In Node, give `gpu: create([])` of the npm package webgpu.",
    });
  const adapter = await requestAdapter(operation, gpu);
  const device = await requestDevice(operation, adapter, profile, gpu);
  try {
    return await device.explore(operation, adapter.info);
  } catch (error) {
    device.end();
    throw error;
  }
}

/** Requests an adapter. If a browser does not trust the driver, it may throw instead of returning null. */
async function requestAdapter(operation: string, gpu: GPU): Promise<GPUAdapter> {
  let refusal = {};
  try {
    const adapter = await requestAdapterOf(gpu);
    if (adapter) return adapter;
  } catch (cause) {
    refusal = { cause };
  }
  throw new UnsupportedError(`${operation}: no GPU adapter is available`, {
    ...refusal,
    hint: 'The browser or its graphics driver offers none; use backend "wasm".',
  });
}

async function requestDevice(operation: string, adapter: GPUAdapter, profile: boolean, gpu: GPU): Promise<Device> {
  try {
    const { limits, features } = adapter;
    if (limits.maxStorageBuffersPerShaderStage < STORAGE_BUFFERS) throw tooFewBuffers(operation, limits);
    const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, largest(limits[name])]));
    const requiredFeatures = FEATURES.filter((name) => features.has(name));
    const gpuDevice = await adapter.requestDevice({ label: "headwise", requiredFeatures, requiredLimits });
    return new Device(gpuDevice, adapter.info, true, profile, gpu);
  } catch (cause) {
    if (HeadwiseError.is(cause)) throw cause;
    throw new UnsupportedError(`${operation}: the GPU adapter refused a device`, { cause });
  }
}

/** Rounds a limit down to whole words. Some adapters report the largest integer as their limit. */
function largest(limit: number): number {
  return limit - (limit % 4 === 0 || limit < 2 ** 16 ? 0 : limit % 4);
}

/** Takes the caller's device, after a test that it really is one. */
async function adopt(operation: string, gpuDevice: GPUDevice, profile: boolean, gpu: GPU | undefined): Promise<Device> {
  let device: Device | undefined;
  try {
    const { limits, adapterInfo } = gpuDevice;
    if (limits.maxStorageBuffersPerShaderStage < STORAGE_BUFFERS) throw tooFewBuffers(operation, limits);
    device = new Device(gpuDevice, adapterInfo, false, profile, gpu);
    const scopes = new ErrorScopes(gpuDevice);
    scopes.around(() => gpuDevice.createBuffer({ size: 4, usage: COPY_DST }).destroy());
    await device.whileAlive(operation, scopes.first());
    return await device.explore(operation, adapterInfo);
  } catch (cause) {
    device?.end();
    if (HeadwiseError.is(cause) && cause.code !== "INTERNAL") throw cause;
    throw new OptionError(`${operation}: device must be a GPUDevice, got ${describe(gpuDevice)}`, {
      hint: "The `requestDevice()` of a GPUAdapter gives one.",
      cause,
    });
  }
}

function tooFewBuffers(operation: string, limits: GPUSupportedLimits): UnsupportedError {
  return new UnsupportedError(
    `${operation}: the kernels need a maxStorageBuffersPerShaderStage of ${STORAGE_BUFFERS}, ` +
      `got ${limits.maxStorageBuffersPerShaderStage}`,
  );
}

function limitsOf({ limits }: GPUDevice): Readonly<Record<LimitName, number>> {
  const names: readonly LimitName[] = [...LIMITS, "minStorageBufferOffsetAlignment"];
  return Object.fromEntries(names.map((name) => [name, limits[name]])) as Record<LimitName, number>;
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
