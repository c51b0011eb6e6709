import { OptionError, UnsupportedError } from "../base/errors.js";
import type { Engine } from "../engine/engine.js";
import type { KernelTime } from "../engine/report.js";
import type { UploadWeightOptions } from "../linear/linearProblem.js";
import type { UploadedWeight } from "../linear/uploadedWeight.js";
import type { Int8Weight } from "../linear/weight.js";
import type { CallArguments } from "../read/callArguments.js";
import type { GpuFloatWeight, GpuResult, GpuTensor } from "../tensor/gpuTensor.js";
import type { Dtype, FloatWeightLike, Tensor, TypedTensor } from "../tensor/tensor.js";
import type { Context, Eventually } from "../turn/context.js";
import type * as readers from "./parts/readers.js";

/** The part of an instance that its GPU uses. */
export interface InstanceContext extends Context {
  readonly engine: Engine;
  /** Runs a call whose code may have to be loaded first. */
  with<Given extends readonly unknown[], Problem extends { readonly signal?: AbortSignal | undefined }, T>(
    call: CallArguments,
    given: Given,
    read: (code: typeof readers, given: Given) => Problem,
    work: (problem: Problem, code: typeof readers) => Eventually<T>,
  ): Promise<T>;
}

/** What belongs to the GPU of an instance: its device, and what lies there. */
export class Gpu {
  readonly #context: InstanceContext;

  /** @internal */
  constructor(context: InstanceContext) {
    this.#context = context;
  }

  /**
   * The GPUDevice: the caller's own, or the one that headwise opened. undefined for backend `"auto"` until a call has
   * opened the GPU (`upload` does), and if the GPU is in a worker. After a lost device it is another one.
   */
  get device(): object | undefined {
    return this.#context.engine.device;
  }

  /** The GPU time of each kernel of the latest call, in the order in which they ran. Needs the option `profile`. */
  get times(): readonly KernelTime[] {
    return this.#context.engine.kernelTimes ?? [];
  }

  /**
   * Copies a tensor to the GPU, for calls that read it there. The result holds its buffer until `dispose()`.
   *
   * @param tensor - A tensor of any dtype in JavaScript.
   * @returns The tensor on the GPU, with its shape and dtype.
   * @throws UnsupportedError if the GPU is in a worker; OptionError, ShapeError; OutOfMemoryError; DeviceLostError;
   *   DisposedError.
   */
  async upload<D extends Dtype>(tensor: Tensor<D>): Promise<GpuResult<D>> {
    const { engine } = this.#context;
    const call = this.#context.arguments("gpu.upload");
    const checked = call.tensor<D>("tensor", tensor);
    if (!engine.upload) throw inWorker(call.operation);
    return this.#context.run(call, () => engine.upload!(call.operation, checked));
  }

  /**
   * Copies a weight of `linear` to the GPU, in the order in which the kernels read it. `linear` brings any other weight into
   * that order in every call, so use this for weights that many calls need.
   *
   * @param weight - As for `linear`. The call reads it, and does not keep it.
   * @returns The weight on the GPU, which only `linear` of this instance takes. It holds its memory until `dispose()`, at
   *   the latest until the instance is disposed.
   * @throws UnsupportedError if the GPU is in a worker; OptionError, ShapeError; OutOfMemoryError; DeviceLostError;
   *   DisposedError.
   */
  async uploadWeight(
    weight: FloatWeightLike | GpuFloatWeight | Int8Weight,
    options: UploadWeightOptions = {},
  ): Promise<UploadedWeight> {
    const context = this.#context;
    const { engine } = context;
    const call = context.arguments("gpu.uploadWeight", engine.onGpu);
    if (!engine.uploadWeight) throw inWorker(call.operation);
    return context.with(
      call,
      [weight, options] as const,
      ({ uploadWeightProblem }, given) => uploadWeightProblem(call, ...given),
      async (problem, { UploadedWeight }) =>
        new UploadedWeight(context, { ...problem.weight, ...problem }, await engine.uploadWeight!(problem)),
    );
  }

  /**
   * Copies a tensor on the GPU to JavaScript: a result with `location: "gpu"`, or any buffer of this instance's device. The
   * tensor on the GPU stays as it is.
   *
   * @param tensor - `{ buffer, shape, dtype, offset }`; the buffer needs usage STORAGE and COPY_SRC.
   * @returns A tensor of the same shape and dtype. float16 and bfloat16 are given as bits.
   * @throws UnsupportedError if the GPU is in a worker; OptionError, ShapeError; OutOfMemoryError; DeviceLostError;
   *   DisposedError.
   */
  async download<D extends Dtype>(tensor: GpuTensor<D>): Promise<TypedTensor<D>> {
    const { engine } = this.#context;
    const call = this.#context.arguments("gpu.download", engine.onGpu);
    if (!engine.download) throw inWorker(call.operation);
    const checked = call.placed<D>("tensor", tensor);
    if (!checked.gpu)
      throw new OptionError("gpu.download: tensor must lie on the GPU, got one in JavaScript", {
        hint: "It needs no download. `upload` brings a tensor to the GPU.",
      });
    return this.#context.run(call, () => engine.download!(call.operation, checked));
  }
}

const inWorker = (operation: string) =>
  new UnsupportedError(`${operation}: the GPU of this instance is in its worker, which shares no tensors on it`, {
    hint: "createAttention of headwise or headwise/webgpu makes an instance whose GPU is here.",
  });
