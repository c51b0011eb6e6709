import { afterAll, beforeAll, describe } from "@jest/globals";
import { createAttention, type Attention, type CreateOptions, type GpuResult } from "headwise";

import { calmPolling } from "./calmPolling.js";
import { prototypeOf, replace, type Method } from "./faultyGpu.js";
import { holdPipelines, sharedDevice } from "./sharedDevice.js";
import { dawnFlags } from "./softwareAdapter.mjs";
import { checkWholeElements, fillWithNan } from "./watchedMemory.js";

/** What the tests use of the npm package webgpu, which is Dawn. */
interface WebgpuPackage {
  readonly create: (flags: string[]) => GPU;
  readonly globals: object;
}

/** Keeps the GPU objects as long as the process lives: if one was collected, the process would crash. */
const kept = globalThis as { headwiseGpus?: GPU[] };

async function load(): Promise<WebgpuPackage | undefined> {
  try {
    return await import("webgpu");
  } catch (error) {
    console.warn(`WebGPU tests are skipped: the package webgpu does not load here: ${String(error)}`);
    return undefined;
  }
}

const webgpu = await load();
if (webgpu) {
  Object.assign(globalThis, webgpu.globals);
  fillWithNan();
  checkWholeElements();
  holdPipelines();
}
if (dawnFlags().length > 0) calmPolling();

function gpuWith(flags: string[]): GPU | undefined {
  const gpu = webgpu?.create(flags);
  if (gpu) (kept.headwiseGpus ??= []).push(gpu);
  return gpu;
}

/** A GPU object with an adapter, or undefined; then the console says why. */
export const gpu = await usableGpu();

/** Dawn without a device: it checks everything and computes nothing. Its buffers hold what was in memory before. */
export const nullGpu = gpuWith(["backend=null"]);

async function usableGpu(): Promise<GPU | undefined> {
  const found = gpuWith(dawnFlags());
  if (!found || (await found.requestAdapter())) return found;
  console.warn("WebGPU tests are skipped: no adapter (apt-get install chromium libvulkan1 brings a software one)");
  return undefined;
}

/** `describe`, or a skipped block whose name says what is missing. */
const describeWith = (found: GPU | undefined, missing: string) =>
  found
    ? describe
    : (name: string, tests: () => void) => {
        describe.skip(`${name} (skipped: ${missing})`, tests);
      };

/** Tests that compute on an adapter. */
export const describeOnGpu = describeWith(gpu, "no WebGPU adapter here");
/** Tests that only need Dawn's checks. */
export const describeOnNullGpu = describeWith(nullGpu, "the npm package webgpu does not load here");

/**
 * In the tests of the surrounding block each kernel is an empty one, with the same name and bindings: for tests of faults on
 * devices without an adapter, which compute nothing. To check its text would take Dawn half of their time; the tests of
 * shaders do that.
 */
export function withEmptyKernels(): void {
  let restore: () => void;
  beforeAll(() => {
    restore = replace(
      prototypeOf("GPUDevice"),
      "createShaderModule",
      (original) =>
        function ({ code, ...rest }: GPUShaderModuleDescriptor) {
          const isKernel = code.includes("@compute"); // another text is one that a fault has put in its place
          return original.call(this, { ...rest, code: isKernel ? "@compute @workgroup_size(1) fn main() {}" : code });
        } as Method,
    );
  });
  afterAll(() => restore());
}

/** Disposes every tensor of a result that stayed on the GPU. */
export function disposeAll(result: object): void {
  for (const part of Object.values(result) as object[])
    if ("dispose" in part) (part as GpuResult).dispose();
    else disposeAll(part);
}

/**
 * An instance on a device as it opens one for itself, but one that all test files share: for tests of results. A test of
 * opening, of loss or of what is left gives `gpu` or a device of its own.
 */
export async function createOnSharedDevice(options: Pick<CreateOptions, "tiling"> = {}): Promise<Attention> {
  const device = await sharedDevice("usual", async () => {
    const opener = await createAttention({ backend: "webgpu", gpu: gpu! });
    return [opener.gpu!.device as GPUDevice, opener];
  });
  return createAttention({ backend: "webgpu", device, ...options });
}

/** A device without features and with the limits of the standard, which all test files share. */
export const plainDevice = (): Promise<GPUDevice> => sharedDevice("plain", async () => [await openTestDevice(), gpu!]);

/** An instance on the GPU and one on the CPU, for the tests of the surrounding block. */
export function bothEngines(): { readonly onGpu: Attention; readonly onCpu: Attention } {
  const engines = {} as { onGpu: Attention; onCpu: Attention };
  beforeAll(async () => {
    engines.onGpu = await createOnSharedDevice();
    engines.onCpu = await createAttention({ backend: "wasm", threads: 1 });
  });
  afterAll(() => {
    engines.onGpu.dispose();
    engines.onCpu.dispose();
  });
  return engines;
}

type Take = (device: GPUDevice, hw: Attention) => void;

/** An instance and its device, for the tests of the surrounding block. */
function onDeviceOf(create: () => Promise<Attention>, take: Take): void {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
    take(hw.gpu!.device as GPUDevice, hw);
  });
  afterAll(() => hw.dispose());
}

/** The shared device and an instance on it. */
export const onSharedDevice = (take: Take) => onDeviceOf(createOnSharedDevice, take);

/** The shared plain device and an instance on it, for tests of its limits. */
export const onPlainDevice = (take: Take) =>
  onDeviceOf(async () => createAttention({ backend: "webgpu", device: await plainDevice() }), take);

/** Opens a device for one test. */
export async function openTestDevice(from = gpu, limits?: Record<string, number>): Promise<GPUDevice> {
  const adapter = (await from!.requestAdapter())!;
  return adapter.requestDevice(limits ? { requiredLimits: limits } : {});
}
