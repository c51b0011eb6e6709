import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionResult, FloatResult, RecordedAttention } from "../attention/attentionResult.js";
import type { MergeProblem, MergeResult } from "../attention/mergeProblem.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { Engine } from "../engine/engine.js";
import { EngineTensor } from "../engine/engineTensor.js";
import type { AdapterReport, KernelTime } from "../engine/report.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import { checkEncoder } from "../tensor/gpuTensor.js";
import { ARRAYS, elementCount, type Dtype, type TensorDataOf } from "../tensor/tensor.js";
import { encodeAttention, runAttention } from "./attention.js";
import { GpuCache, type GpuEngineCache } from "./cache.js";
import { runCall } from "./call.js";
import { endCore, makeCore, type GpuCore } from "./core.js";
import { openDevice, type Device, type DeviceOptions } from "./device.js";
import { GpuLayer } from "./layer.js";
import { runMerge } from "./merge.js";
import { runRotary } from "./rotary.js";

/** Opens a device and makes an engine with it. */
export async function openWebgpu(operation: string, options: DeviceOptions): Promise<WebgpuEngine> {
  return new WebgpuEngine(await openDevice(operation, options), options);
}

/** The engine that computes with WebGPU. Each operation has a file of its own. */
export class WebgpuEngine implements Engine {
  readonly onGpu = true;
  instance: WeakRef<object> | undefined;
  readonly #options: DeviceOptions;
  #engine: GpuCore;
  #disposed = false;
  /** GPU times of the latest call's kernels, with `profile`. */
  #times: readonly KernelTime[] = [];

  constructor(device: Device, options: DeviceOptions) {
    this.#options = options;
    this.#engine = this.#makeCore(device);
  }

  get adapter(): AdapterReport {
    return this.#engine.device.adapter;
  }

  get isTimed(): boolean {
    return this.#engine.device.timed;
  }

  get kernelTimes(): readonly KernelTime[] {
    return this.#times;
  }

  encode(encoder: object, problem: AttentionProblem): Promise<RecordedAttention> {
    const checked = checkEncoder(problem.operation, encoder) as GPUCommandEncoder;
    return this.#run(problem.operation, (engine) => encodeAttention(engine, problem, checked));
  }

  attention(problem: AttentionProblem): Promise<AttentionResult> {
    return this.#run(problem.operation, (engine) => runAttention(engine, problem));
  }

  merge(problem: MergeProblem): Promise<MergeResult> {
    return this.#run(problem.operation, (engine) => runMerge(engine, problem));
  }

  rotary(problem: RotaryProblem): Promise<FloatResult> {
    return this.#run(problem.operation, (engine) => runRotary(engine, problem));
  }

  async createCache(problem: CacheProblem): Promise<EngineCache> {
    return this.#engineCache(await this.#run(problem.operation, (engine) => GpuCache.empty(engine, problem)));
  }

  async loadCache(operation: string, bytes: Uint8Array): Promise<EngineCache> {
    return this.#engineCache(await this.#run(operation, (engine) => GpuCache.load(engine, operation, bytes)));
  }

  #engineCache(cache: GpuCache): GpuEngineCache {
    return {
      onGpu: true,
      cache,
      form: cache.form,
      get appended() {
        return cache.appended;
      },
      get bytes() {
        return cache.bytes;
      },
      append: (problem) => this.#run(problem.operation, (engine) => cache.append(engine, problem)),
      attend: (problem) => this.#run(problem.operation, (engine) => cache.attend(engine, problem)),
      rewind: (operation, lengths) => cache.rewind(operation, lengths),
      fork: async (operation) =>
        this.#engineCache(await this.#run(operation, (engine) => Promise.resolve(cache.fork(engine, operation)))),
      slice: async (operation, from, to) =>
        this.#engineCache(await this.#run(operation, (engine) => cache.slice(engine, operation, from, to))),
      save: (operation) => this.#run(operation, (engine) => cache.save(engine, operation)),
      release: () => cache.release(),
    };
  }

  async createLayer(problem: LayerProblem): Promise<EngineLayer> {
    const layer = new GpuLayer(problem);
    await this.#run(problem.operation, (engine) =>
      runCall(engine, problem.operation, (call) => {
        layer.upload(call);
        return () => undefined;
      }),
    );
    return {
      get bytes() {
        return layer.bytes;
      },
      forward: (forward) => this.#run(forward.operation, (engine) => layer.forward(engine, forward)),
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
    endCore(this.#engine);
  }

  /** Runs `work` on the device. If our own device was lost, opens a new one first. */
  async #run<T>(operation: string, work: (engine: GpuCore) => Promise<T>): Promise<T> {
    const { device } = this.#engine;
    try {
      if (device.isLost && device.owned && !this.#disposed) await this.#reopen(operation);
      return await work(this.#engine);
    } catch (error) {
      if (this.#disposed) this.#engine.device.assertAlive(operation);
      throw await this.#engine.device.explain(operation, error);
    }
  }

  async #reopen(operation: string): Promise<void> {
    const engine = this.#makeCore(await openDevice(operation, this.#options));
    if (this.#disposed) endCore(engine);
    this.#engine = engine;
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
