import type { AttentionProblem } from "../attentionProblem.js";
import type {
  AdapterReport,
  AttentionResult,
  Backend,
  BackendCache,
  BackendLayer,
  FloatResult,
  GpuAttentionResult,
  KernelTime,
} from "../backend.js";
import type { CacheProblem } from "../cache.js";
import { DisposedError } from "../errors.js";
import type { LayerProblem } from "../layerProblem.js";
import type { MergeProblem, MergeResult } from "../merge.js";
import type { RotaryProblem } from "../rotary.js";
import { ARRAYS, elementCount, type Dtype, type TensorDataOf } from "../tensor.js";
import { EngineTensor } from "../wasm/heap.js";
import { encodeAttention, runAttention } from "./attention.js";
import { GpuCache, type GpuBackendCache } from "./cache.js";
import { runCall, scoped } from "./call.js";
import { openDevice, type Device, type DeviceOptions } from "./device.js";
import { makeEngine, type Engine } from "./engine.js";
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

  encode(encoder: object, problem: AttentionProblem): Promise<GpuAttentionResult> {
    return this.#run(problem.operation, (engine) => encodeAttention(engine, problem, encoder as GPUCommandEncoder));
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
    const cache = await this.#run(problem.operation, (engine) =>
      scoped(engine, problem.operation, () => GpuCache.empty(engine, problem)),
    );
    return this.#backendCache(cache);
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
    this.#engine.pool.destroy();
    this.#engine.device.release();
  }

  /** Runs on the device, or on a new one if the last one of our own was lost. */
  async #run<T>(operation: string, work: (engine: Engine) => Promise<T>): Promise<T> {
    const { device } = this.#engine;
    if (device.isLost && device.owned && !this.#disposed)
      this.#engine = this.#makeEngine(await openDevice(operation, this.#options));
    try {
      return await work(this.#engine);
    } catch (error) {
      if (this.#disposed)
        throw new DisposedError(`${operation}: the instance was disposed while the call ran`, { cause: error });
      throw await this.#engine.device.explain(operation, error);
    }
  }

  #makeEngine(device: Device): Engine {
    return makeEngine(device, (times) => {
      this.#times = times;
    });
  }
}
