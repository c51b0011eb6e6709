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
import { DeviceLostError, UnsupportedError } from "./errors.js";
import { gpuDataOf } from "./gpuData.js";
import type { LayerProblem } from "./layerProblem.js";
import type { MergeProblem, MergeResult } from "./merge.js";
import type { RotaryProblem } from "./rotary.js";
import type { Dtype } from "./tensor.js";
import type { EngineTensor } from "./wasm/heap.js";
import type { WebgpuBackend } from "./webgpu/backend.js";

/**
 * Below this a call does not gain by the GPU: it is 3 to 6 milliseconds of work for one CPU core, about what copying
 * the arrays to the GPU, waiting for it and copying back may cost.
 */
const LEAST_MULTIPLY_ADDS = 2 ** 26;

/** Large calls on the GPU, all others on the CPU; the CPU also takes over what the GPU refuses or loses. */
export class AutoBackend implements Backend {
  readonly onGpu = true;
  readonly #gpu: WebgpuBackend;
  readonly #cpu: Backend;

  constructor(gpu: WebgpuBackend, cpu: Backend) {
    this.#gpu = gpu;
    this.#cpu = cpu;
  }

  get kernelTimes(): readonly KernelTime[] {
    return this.#gpu.kernelTimes;
  }

  encode(encoder: object, problem: AttentionProblem): Promise<GpuAttentionResult> {
    return this.#gpu.encode(encoder, problem);
  }

  attention(problem: AttentionProblem): Eventually<AttentionResult> {
    if (touchesGpu(problem)) return this.#gpu.attention(problem);
    if (multiplyAdds(problem) < LEAST_MULTIPLY_ADDS) return this.#cpu.attention(problem);
    return this.#gpu.attention(problem).catch((error: unknown) => {
      if (DeviceLostError.is(error) || UnsupportedError.is(error)) return this.#cpu.attention(problem);
      throw error;
    });
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
    this.#gpu.dispose();
    this.#cpu.dispose();
  }
}

/** Whether a tensor of the call lies on the GPU or is to stay there. */
function touchesGpu({ location, query, key, value, settings, output }: AttentionProblem): boolean {
  const tensors = [query, key, value, settings.mask?.tensor, settings.bias?.tensor, output.into];
  return location === "gpu" || tensors.some((tensor) => tensor !== undefined && gpuDataOf(tensor) !== undefined);
}

function multiplyAdds({ shape }: AttentionProblem): number {
  const { batchSize, numHeads, queryLength, keyLength, headDim, valueDim } = shape;
  return batchSize * numHeads * queryLength * keyLength * (headDim + valueDim);
}
