import type { AttentionProblem } from "./attentionProblem.js";
import type {
  AttentionResult,
  Backend,
  BackendCache,
  BackendLayer,
  Eventually,
  FloatResult,
  GpuAttentionResult,
  KernelTime,
} from "./backend.js";
import type { CacheProblem } from "./cache.js";
import { gpuDataOf } from "./gpuData.js";
import type { LayerProblem } from "./layerProblem.js";
import type { MergeProblem, MergeResult } from "./merge.js";
import type { RotaryProblem } from "./rotary.js";
import type { Dtype } from "./tensor.js";
import type { EngineTensor } from "./wasm/heap.js";
import type { WebgpuBackend } from "./webgpu/backend.js";

/**
 * The CPU computes; the GPU only what is on it or is to stay there. It is opened by the first such call. Were large calls
 * to go there too, their speed on real GPUs would have to be known, and it has not been measured.
 */
export class AutoBackend implements Backend {
  readonly onGpu = true;
  readonly #cpu: Backend;
  readonly #open: (operation: string) => Promise<WebgpuBackend>;
  #opening: Promise<WebgpuBackend> | undefined;
  #gpu: WebgpuBackend | undefined;
  #disposed = false;

  constructor(cpu: Backend, open: (operation: string) => Promise<WebgpuBackend>) {
    this.#cpu = cpu;
    this.#open = open;
  }

  get kernelTimes(): readonly KernelTime[] {
    return this.#gpu?.kernelTimes ?? [];
  }

  async encode(encoder: object, problem: AttentionProblem): Promise<GpuAttentionResult> {
    return (await this.#opened(problem.operation)).encode(encoder, problem);
  }

  attention(problem: AttentionProblem): Eventually<AttentionResult> {
    if (!touchesGpu(problem)) return this.#cpu.attention(problem);
    return this.#opened(problem.operation).then((gpu) => gpu.attention(problem));
  }

  merge(problem: MergeProblem): Eventually<MergeResult> {
    return this.#cpu.merge(problem);
  }

  rotary(problem: RotaryProblem): Eventually<FloatResult> {
    return this.#cpu.rotary(problem);
  }

  createCache(problem: CacheProblem): Eventually<BackendCache> {
    return this.#cpu.createCache(problem);
  }

  loadCache(operation: string, bytes: Uint8Array): Eventually<BackendCache> {
    return this.#cpu.loadCache(operation, bytes);
  }

  createLayer(problem: LayerProblem): Eventually<BackendLayer> {
    return this.#cpu.createLayer(problem);
  }

  allocate<D extends Dtype>(operation: string, shape: readonly number[], dtype: D): EngineTensor<D> {
    return this.#cpu.allocate(operation, shape, dtype);
  }

  dispose(): void {
    this.#disposed = true;
    this.#gpu?.dispose();
    this.#cpu.dispose();
  }

  /** The GPU; a failure to open it is not kept. */
  #opened(operation: string): Promise<WebgpuBackend> {
    this.#opening ??= this.#open(operation).then(
      (gpu) => {
        this.#gpu = gpu;
        if (this.#disposed) gpu.dispose();
        return gpu;
      },
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }
}

/** Whether a tensor of the call lies on the GPU or is to stay there. */
function touchesGpu({ location, query, key, value, settings, output }: AttentionProblem): boolean {
  const tensors = [query, key, value, settings.mask?.tensor, settings.bias?.tensor, output.into];
  return location === "gpu" || tensors.some((tensor) => tensor !== undefined && gpuDataOf(tensor) !== undefined);
}
