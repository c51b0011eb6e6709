import type { AttentionProblem } from "../attentionProblem.js";
import type {
  AdapterReport,
  AttentionResult,
  Backend,
  BackendCache,
  BackendLayer,
  FloatResult,
  KernelTime,
  RecordedAttention,
} from "../backend.js";
import type { CacheProblem } from "../cache.js";
import { checkEncoder } from "../gpuData.js";
import type { LayerProblem } from "../layerProblem.js";
import type { MergeProblem, MergeResult } from "../merge.js";
import type { RotaryProblem } from "../rotary.js";
import { ARRAYS, elementCount, type Dtype, type TensorDataOf } from "../tensor.js";
import { EngineTensor } from "../wasm/heap.js";
import { encodeAttention, runAttention } from "./attention.js";
import { GpuCache, type GpuBackendCache } from "./cache.js";
import { runCall } from "./call.js";
import { openDevice, type Device, type DeviceOptions } from "./device.js";
import { endEngine, makeEngine, type Engine } from "./engine.js";
import { GpuLayer } from "./layer.js";
import { runMerge } from "./merge.js";
import { runRotary } from "./rotary.js";

/** Opens a device and makes the engine on it. */
export async function openWebgpu(operation: string, options: DeviceOptions): Promise<WebgpuBackend> {
  return new WebgpuBackend(await openDevice(operation, options), options);
}

/** The WebGPU engine as a backend: each operation has its file. */
export class WebgpuBackend implements Backend {
  readonly onGpu = true;
  instance: WeakRef<object> | undefined;
  readonly #options: DeviceOptions;
  #engine: Engine;
  #disposed = false;
  /** GPU time of the latest call's kernels, with `profile`. */
  #times: readonly KernelTime[] = [];

  constructor(device: Device, options: DeviceOptions) {
    this.#options = options;
    this.#engine = this.#makeEngine(device);
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

  async createCache(problem: CacheProblem): Promise<BackendCache> {
    return this.#backendCache(await this.#run(problem.operation, (engine) => GpuCache.empty(engine, problem)));
  }

  async loadCache(operation: string, bytes: Uint8Array): Promise<BackendCache> {
    return this.#backendCache(await this.#run(operation, (engine) => GpuCache.load(engine, operation, bytes)));
  }

  #backendCache(cache: GpuCache): GpuBackendCache {
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
        this.#backendCache(await this.#run(operation, (engine) => Promise.resolve(cache.fork(engine, operation)))),
      slice: async (operation, from, to) =>
        this.#backendCache(await this.#run(operation, (engine) => cache.slice(engine, operation, from, to))),
      save: (operation) => this.#run(operation, (engine) => cache.save(engine, operation)),
      release: () => cache.release(),
    };
  }

  async createLayer(problem: LayerProblem): Promise<BackendLayer> {
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

  /** Arrays of JavaScript: memory of the GPU cannot be seen from here. */
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
    endEngine(this.#engine);
  }

  /** Runs on the device, or on a new one if the last one of our own was lost. */
  async #run<T>(operation: string, work: (engine: Engine) => Promise<T>): Promise<T> {
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
    const engine = this.#makeEngine(await openDevice(operation, this.#options));
    if (this.#disposed) endEngine(engine);
    this.#engine = engine;
  }

  #makeEngine(device: Device): Engine {
    return makeEngine(device, {
      onTimes: (times) => {
        this.#times = times;
      },
      instance: () => this.instance?.deref(),
    });
  }
}
