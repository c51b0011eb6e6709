import type { AttentionProblem } from "./attentionProblem.js";
import type { AttentionResult, Eventually, KernelTime, RecordedAttention } from "./backend.js";
import { checkEncoder, gpuDataOf } from "./gpuData.js";
import { Late } from "./late.js";
import { WasmBackend } from "./wasm/backend.js";
import type { WasmEngine } from "./wasm/engine.js";
import type { WebgpuBackend } from "./webgpu/backend.js";

/**
 * The CPU computes; the GPU only what is on it or is to stay there. It is opened by the first such call. Were large calls
 * to go there too, their speed on real GPUs would have to be known, and it has not been measured.
 */
export class AutoBackend extends WasmBackend {
  readonly onGpu = true;
  instance: WeakRef<object> | undefined;
  readonly #gpu: Late<WebgpuBackend>;
  #disposed = false;

  constructor(engine: WasmEngine, open: (operation: string) => Promise<WebgpuBackend>) {
    super(engine);
    this.#gpu = new Late(async (operation) => {
      const gpu = await open(operation);
      gpu.instance = this.instance;
      if (this.#disposed) gpu.dispose();
      return gpu;
    });
  }

  get kernelTimes(): readonly KernelTime[] {
    return this.#gpu.loaded?.kernelTimes ?? [];
  }

  async encode(encoder: object, problem: AttentionProblem): Promise<RecordedAttention> {
    checkEncoder(problem.operation, encoder);
    return (await this.#gpu.load(problem.operation)).encode(encoder, problem);
  }

  override attention(problem: AttentionProblem): Eventually<AttentionResult> {
    if (!touchesGpu(problem)) return super.attention(problem);
    return this.#gpu.load(problem.operation).then((gpu) => gpu.attention(problem));
  }

  override dispose(): void {
    this.#disposed = true;
    this.#gpu.loaded?.dispose();
    super.dispose();
  }
}

/** Whether a tensor of the call lies on the GPU or is to stay there. */
function touchesGpu({ location, query, key, value, settings, output }: AttentionProblem): boolean {
  const tensors = [query, key, value, settings.mask?.tensor, settings.bias?.tensor, output.into];
  return location === "gpu" || tensors.some(gpuDataOf);
}
