import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionResult, FloatResult, RecordedAttention } from "../attention/attentionResult.js";
import type { MergeProblem, MergeResult } from "../attention/mergeProblem.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import { EngineTensor } from "../engine/engineTensor.js";
import type { GpuEngine } from "../engine/gpuModule.js";
import type { AdapterReport, KernelTime } from "../engine/report.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import { checkEncoder, type GpuResult } from "../tensor/gpuTensor.js";
import {
  ARRAYS,
  elementCount,
  type CheckedTensor,
  type Dtype,
  type TensorDataOf,
  type TypedTensor,
} from "../tensor/tensor.js";
import { encodeAttention, runAttention } from "./attention.js";
import { GpuCache, type GpuEngineCache } from "./cache.js";
import { runCall } from "./call.js";
import { endCore, makeCore, type GpuCore } from "./core.js";
import { openDevice, type Device, type DeviceOptions } from "./device.js";
import { GpuLayer } from "./layer.js";
import { runMerge } from "./merge.js";
import { runRotary } from "./rotary.js";
import { tilingsOf } from "./tiles.js";
import { download, upload } from "./transfer.js";

/** Opens a device and makes an engine with it. */
export async function openWebgpu(operation: string, options: DeviceOptions): Promise<WebgpuEngine> {
  return new WebgpuEngine(await openDevice(operation, options), options);
}

/** The engine that computes with WebGPU. Each operation has a file of its own. */
export class WebgpuEngine implements GpuEngine {
  readonly onGpu = true;
  readonly places = ["webgpu"] as const;
  instance: WeakRef<object> | undefined;
  readonly #options: DeviceOptions;
  #core: GpuCore;
  #disposed = false;
  /** GPU times of the latest call's kernels, with `profile`. */
  #times: readonly KernelTime[] = [];

  constructor(device: Device, options: DeviceOptions) {
    this.#options = options;
    this.#core = this.#makeCore(device);
  }

  get adapter(): AdapterReport {
    return this.#core.device.adapter;
  }

  get tilings(): readonly string[] {
    return tilingsOf(this.#core.device.capabilities);
  }

  get tiling(): string {
    return this.#core.device.capabilities.tiling ?? this.tilings[0]!;
  }

  set tiling(name: string) {
    this.#core.device.tiling = name;
  }

  get isTimed(): boolean {
    return this.#core.device.timed;
  }

  get kernelTimes(): readonly KernelTime[] {
    return this.#times;
  }

  get device(): object {
    return this.#core.device.gpuDevice;
  }

  upload<D extends Dtype>(operation: string, tensor: CheckedTensor<D>): Promise<GpuResult<D>> {
    return this.#run(operation, (core) => upload(core, operation, tensor));
  }

  download<D extends Dtype>(operation: string, tensor: CheckedTensor<D>): Promise<TypedTensor<D>> {
    return this.#run(operation, (core) => download(core, operation, tensor));
  }

  encode(encoder: object, problem: AttentionProblem): Promise<RecordedAttention> {
    const checked = checkEncoder(problem.operation, encoder) as GPUCommandEncoder;
    return this.#run(problem.operation, (core) => encodeAttention(core, problem, checked));
  }

  attention(problem: AttentionProblem): Promise<AttentionResult> {
    return this.#run(problem.operation, (core) => runAttention(core, problem));
  }

  merge(problem: MergeProblem): Promise<MergeResult> {
    return this.#run(problem.operation, (core) => runMerge(core, problem));
  }

  rotary(problem: RotaryProblem): Promise<FloatResult> {
    return this.#run(problem.operation, (core) => runRotary(core, problem));
  }

  async createCache(problem: CacheProblem): Promise<EngineCache> {
    return this.#engineCache(await this.#run(problem.operation, (core) => GpuCache.empty(core, problem)));
  }

  async loadCache(operation: string, bytes: Uint8Array): Promise<EngineCache> {
    return this.#engineCache(await this.#run(operation, (core) => GpuCache.load(core, operation, bytes)));
  }

  #engineCache(cache: GpuCache): GpuEngineCache {
    return {
      onGpu: true,
      placement: "webgpu",
      cache,
      form: cache.form,
      get appended() {
        return cache.appended;
      },
      get bytes() {
        return cache.bytes;
      },
      append: (problem) => this.#run(problem.operation, (core) => cache.append(core, problem)),
      attend: (problem) => this.#run(problem.operation, (core) => cache.attend(core, problem)),
      rewind: (operation, lengths) => cache.rewind(operation, lengths),
      fork: async (operation) =>
        this.#engineCache(await this.#run(operation, (core) => Promise.resolve(cache.fork(core, operation)))),
      slice: async (operation, from, to) =>
        this.#engineCache(await this.#run(operation, (core) => cache.slice(core, operation, from, to))),
      save: (operation) => this.#run(operation, (core) => cache.save(core, operation)),
      release: () => cache.release(),
    };
  }

  async createLayer(problem: LayerProblem): Promise<EngineLayer> {
    const layer = new GpuLayer(problem);
    await this.#run(problem.operation, (core) =>
      runCall(core, problem.operation, (call) => {
        layer.upload(call);
        return () => undefined;
      }),
    );
    return {
      placement: "webgpu",
      get bytes() {
        return layer.bytes;
      },
      forward: (forward) => this.#run(forward.operation, (core) => layer.forward(core, forward)),
      release: () => layer.release(),
    };
  }

  /** Makes a JavaScript array, because JavaScript cannot see the GPU's memory. */
  allocate<D extends Dtype>(operation: string, shape: readonly number[], dtype: D): EngineTensor<D> {
    const data = new ARRAYS[dtype](elementCount(operation, "tensor", shape)) as TensorDataOf[D];
    return new EngineTensor(
      () => data,
      [...shape],
      dtype,
      () => {},
    );
  }

  dispose(): void {
    this.#disposed = true;
    endCore(this.#core);
  }

  /** Runs `work` on the device. If our own device was lost, opens a new one first. */
  async #run<T>(operation: string, work: (core: GpuCore) => Promise<T>): Promise<T> {
    const { device } = this.#core;
    try {
      if (device.isLost && device.owned && !this.#disposed) await this.#reopen(operation);
      return await work(this.#core);
    } catch (error) {
      if (this.#disposed) this.#core.device.assertAlive(operation);
      throw await this.#core.device.explain(operation, error);
    }
  }

  async #reopen(operation: string): Promise<void> {
    const core = this.#makeCore(await openDevice(operation, this.#options));
    core.device.tiling = this.#core.device.tiling;
    if (this.#disposed) endCore(core);
    this.#core = core;
  }

  #makeCore(device: Device): GpuCore {
    return makeCore(device, {
      onTimes: (times) => {
        this.#times = times;
      },
      instance: () => this.instance?.deref(),
    });
  }
}
