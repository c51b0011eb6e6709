import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { PlacedOutput, PlacedResult } from "../attention/attentionResult.js";
import type { BackwardProblem, PlacedGradients } from "../attention/backwardProblem.js";
import type { MergeProblem, PlacedMerge } from "../attention/mergeProblem.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { Owner } from "../engine/engine.js";
import { EngineTensor, type NewTensor } from "../engine/engineTensor.js";
import type { GpuEngine } from "../engine/gpuModule.js";
import type { Tiling } from "../engine/gpuOptions.js";
import type { AdapterReport, KernelTime } from "../engine/report.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type {
  LinearBackwardProblem,
  LinearProblem,
  PlacedLinearGradients,
  UploadWeightProblem,
} from "../linear/linearProblem.js";
import type { EngineWeight } from "../linear/uploadedWeight.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { Watched } from "../read/watched.js";
import type { EngineStep, StepProblem } from "../step/stepProblem.js";
import { checkEncoder, type GpuResult } from "../tensor/gpuTensor.js";
import {
  ARRAYS,
  elementCount,
  type BufferTensor,
  type CheckedTensor,
  type Dtype,
  type TensorDataOf,
  type TypedTensor,
} from "../tensor/tensor.js";
import type { Recorded } from "../turn/context.js";
import type { Disposing } from "../turn/disposable.js";
import { forEncoder, recordAttention } from "./attention/attention.js";
import { recordBackward } from "./attention/backward.js";
import { recordMerge } from "./attention/merge.js";
import { recordRotary } from "./attention/rotary.js";
import { recordDownload, recordUpload } from "./attention/transfer.js";
import { GpuCache, type GpuEngineCache } from "./cache/cache.js";
import type { Recorder } from "./call/call.js";
import { endCore, makeCore, type GpuCore } from "./call/core.js";
import { encodeCall, prepareCall } from "./call/encodeCall.js";
import { Aborted, runCall } from "./call/runCall.js";
import { openDevice, type Device, type DeviceOptions } from "./device/device.js";
import { GpuLayer, type GpuEngineLayer } from "./layer/layer.js";
import { recordLinear, recordLinearBackward, recordUploadWeight } from "./layer/linear.js";
import { tilingsOf } from "./plan/tiles.js";
import { GpuStep } from "./step/step.js";

/** Opens a device and makes an engine with it. */
export async function openWebgpu(operation: string, options: DeviceOptions): Promise<WebgpuEngine> {
  return new WebgpuEngine(await openDevice(operation, options), options);
}

/** The engine that computes with WebGPU. Each operation has a file of its own. */
export class WebgpuEngine implements GpuEngine {
  readonly onGpu = true;
  readonly places = ["webgpu"] as const;
  instance: WeakRef<Owner> | undefined;
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

  get tilings(): readonly Tiling[] {
    const { tiling = "auto" } = this.#options;
    return tiling === "auto" ? tilingsOf(this.#core.device.capabilities) : [tiling];
  }

  get tiling(): string {
    return this.#core.device.tiling;
  }

  set tiling(name: string) {
    this.#core.device.tiling = name as Tiling; // one of `tilings`
  }

  get isTimed(): boolean {
    return this.#core.device.timed;
  }

  get kernelTimes(): readonly KernelTime[] {
    return this.#times;
  }

  async kernelSeconds(work: () => Promise<unknown>): Promise<number | undefined> {
    const { device } = this.#core;
    if (!device.canTime) return undefined;
    const [before, times] = [device.timed, this.#times];
    device.timed = true;
    this.#times = [];
    try {
      await work();
      return this.#times.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / 1000;
    } finally {
      device.timed = before;
      this.#times = times;
    }
  }

  get device(): object {
    return this.#core.device.gpuDevice;
  }

  upload<D extends Dtype>(operation: string, tensor: CheckedTensor<D>): Promise<GpuResult<D>> {
    return this.#call(operation, (call) => recordUpload(call, tensor));
  }

  uploadWeight(problem: UploadWeightProblem): Promise<EngineWeight> {
    return this.#call(problem.operation, (call) => recordUploadWeight(call, problem));
  }

  download<D extends Dtype>(operation: string, tensor: BufferTensor<D>): Promise<TypedTensor<D>> {
    return this.#call(operation, (call) => recordDownload(call, tensor));
  }

  prepare(problem: AttentionProblem): Promise<void> {
    return this.#prepare(problem.operation, (call) => recordAttention(call, problem));
  }

  record(encoder: object, problem: AttentionProblem): Recorded<PlacedResult> {
    const recorded = forEncoder(problem);
    return this.#encode(problem.operation, encoder, (call) => recordAttention(call, recorded));
  }

  finish(operation: string): Promise<void> {
    return this.#run(operation, async ({ device, faults }) => {
      const { queue } = device.gpuDevice;
      await device.whileAlive(operation, Promise.all([queue.onSubmittedWorkDone(), faults.settled()]));
      faults.surface();
    });
  }

  attention(problem: AttentionProblem): Promise<PlacedResult> {
    return this.#call(problem.operation, (call) => recordAttention(call, problem), problem);
  }

  attentionBackward(problem: BackwardProblem): Promise<PlacedGradients> {
    return this.#call(problem.operation, (call) => recordBackward(call, problem), problem);
  }

  merge(problem: MergeProblem): Promise<PlacedMerge> {
    return this.#call(problem.operation, (call) => recordMerge(call, problem));
  }

  rotary(problem: RotaryProblem): Promise<PlacedOutput> {
    return this.#call(problem.operation, (call) => recordRotary(call, problem));
  }

  linear(problem: LinearProblem): Promise<PlacedOutput> {
    return this.#call(problem.operation, (call) => recordLinear(call, problem), problem);
  }

  linearBackward(problem: LinearBackwardProblem): Promise<PlacedLinearGradients> {
    return this.#call(problem.operation, (call) => recordLinearBackward(call, problem), problem);
  }

  async createCache(problem: CacheProblem): Promise<EngineCache> {
    return this.#engineCache(await this.#call(problem.operation, (call) => GpuCache.empty(call, problem)));
  }

  async loadCache(operation: string, bytes: Uint8Array): Promise<EngineCache> {
    return this.#engineCache(await this.#call(operation, (call) => GpuCache.load(call, bytes)));
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
      append: (problem) => this.#call(problem.operation, (call) => cache.append(call, problem)),
      attend: (problem) => this.#call(problem.operation, (call) => cache.attend(call, problem), problem),
      step: (append, attend) => this.#call(append.operation, (call) => cache.step(call, append, attend), attend),
      recordAppend: (encoder, problem) =>
        this.#encode(problem.operation, encoder, (call) => {
          const deliver = cache.append(call, problem);
          return (mapped) => {
            deliver(mapped);
            return {};
          };
        }),
      recordAttend: (encoder, problem) => {
        const recorded = forEncoder(problem);
        return this.#encode(problem.operation, encoder, (call) => cache.attend(call, recorded));
      },
      rewind: (operation, lengths) => cache.rewind(operation, lengths),
      select: (operation, indices) => this.#call(operation, (call) => cache.select(call, indices)),
      keep: (operation, tokens) => this.#call(operation, (call) => cache.keep(call, tokens)),
      fork: async (operation) =>
        this.#engineCache(await this.#run(operation, (core) => Promise.resolve(cache.fork(core, operation)))),
      slice: async (operation, from, to) =>
        this.#engineCache(await this.#call(operation, (call) => cache.slice(call, from, to))),
      save: (operation) => this.#call(operation, (call) => cache.save(call)),
      release: () => cache.release(),
    };
  }

  async createLayer(problem: LayerProblem): Promise<GpuEngineLayer> {
    const layer = new GpuLayer(problem);
    await this.#call(problem.operation, (call) => {
      layer.upload(call);
      return () => undefined;
    });
    return {
      placement: "webgpu",
      onGpu: true,
      layer,
      get bytes() {
        return layer.bytes;
      },
      forward: (forward) => this.#call(forward.operation, (call) => layer.forward(call, forward), forward),
      record: (encoder, forward) => {
        const recorded = forEncoder(forward);
        return this.#encode(forward.operation, encoder, (call) => layer.forward(call, recorded));
      },
      backward: (backward) => this.#call(backward.operation, (call) => layer.backward(call, backward), backward),
      update: (update) => this.#call(update.operation, (call) => layer.update(call, update)),
      release: () => layer.release(),
    };
  }

  async createStep(problem: StepProblem): Promise<EngineStep> {
    const step = await this.#call(problem.operation, (call) => GpuStep.make(call, problem));
    return {
      get bytes() {
        return step.bytes;
      },
      run: (operation, inputs) => this.#call(operation, (call) => step.run(call, inputs)),
      release: () => step.release(),
    };
  }

  /** Makes a JavaScript array, because JavaScript cannot see the GPU's memory. */
  allocate<D extends Dtype>(operation: string, { shape, dtype }: NewTensor<D>): EngineTensor<D> {
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

  #call<T>(operation: string, record: Recorder<T>, watched?: Partial<Watched>): Promise<T> {
    return this.#run(operation, (core) => runCall(core, operation, record, watched));
  }

  #prepare(operation: string, record: Recorder<unknown>): Promise<void> {
    return this.#run(operation, (core) => prepareCall(core, operation, record));
  }

  #encode<T extends object>(operation: string, encoder: object, record: Recorder<T>): Recorded<T & Disposing> {
    const checked = checkEncoder(operation, encoder) as GPUCommandEncoder;
    if (this.#mustReopen) {
      const later = (core: GpuCore) => encodeCall(core, operation, checked, record).results;
      return { atOnce: false, results: this.#run(operation, later) };
    }
    const { atOnce, results } = encodeCall(this.#core, operation, checked, record);
    return { atOnce, results: this.#run(operation, () => results) };
  }

  get #mustReopen(): boolean {
    const { isLost, owned } = this.#core.device;
    return isLost && owned && !this.#disposed;
  }

  /** Runs `work` on the device. If our own device was lost, opens a new one first. */
  async #run<T>(operation: string, work: (core: GpuCore) => Promise<T>): Promise<T> {
    try {
      if (this.#mustReopen) await this.#reopen(operation);
      return await work(this.#core);
    } catch (error) {
      if (error instanceof Aborted) throw error.cause;
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
