import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { PlacedOutput, PlacedResult } from "../attention/attentionResult.js";
import type { MergeProblem, PlacedMerge } from "../attention/mergeProblem.js";
import type { Eventually, Recorded } from "../call/context.js";
import type { GpuEngine } from "../engine/gpuModule.js";
import type { Owner } from "../engine/engine.js";
import type { KernelTime } from "../engine/report.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import { checkEncoder, type GpuResult } from "../tensor/gpuTensor.js";
import type { BufferTensor, CheckedTensor, Dtype, PlacedTensor, TypedTensor } from "../tensor/tensor.js";
import type { WasmCore } from "../wasm/core.js";
import { WasmEngine } from "../wasm/wasmEngine.js";
import { Late } from "./late.js";

/**
 * Computes on the CPU, except calls whose tensors lie on the GPU or whose results stay there. The first such call opens
 * the GPU. No other call goes to the GPU, because its speed on real GPUs has not been measured.
 */
export class AutoEngine extends WasmEngine {
  readonly onGpu = true;
  instance: WeakRef<Owner> | undefined;
  readonly #gpu: Late<GpuEngine>;
  #disposed = false;

  constructor(core: WasmCore, open: (operation: string) => Promise<GpuEngine>) {
    super(core);
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

  /** The GPU's device, once a call has opened it. */
  get device(): object | undefined {
    return this.#gpu.loaded?.device;
  }

  async upload<D extends Dtype>(operation: string, tensor: CheckedTensor<D>): Promise<GpuResult<D>> {
    return (await this.#gpu.load(operation)).upload(operation, tensor);
  }

  async download<D extends Dtype>(operation: string, tensor: BufferTensor<D>): Promise<TypedTensor<D>> {
    return (await this.#gpu.load(operation)).download(operation, tensor);
  }

  async prepare(problem: AttentionProblem): Promise<void> {
    if (touchesGpu(problem)) await (await this.#gpu.load(problem.operation)).prepare(problem);
  }

  async finish(operation: string): Promise<void> {
    await this.#gpu.loaded?.finish(operation);
  }

  record(encoder: object, problem: AttentionProblem): Recorded<PlacedResult> {
    checkEncoder(problem.operation, encoder);
    const { loaded } = this.#gpu;
    if (loaded) return loaded.record(encoder, problem);
    const results = this.#gpu.load(problem.operation).then((gpu) => gpu.record(encoder, problem).results);
    return { atOnce: false, results };
  }

  override merge(problem: MergeProblem): Eventually<PlacedMerge> {
    const tensors = [...problem.parts.flatMap(({ output, lse }) => [output, lse]), problem.output.into?.place];
    if (!liesOnGpu(problem, tensors)) return super.merge(problem);
    return this.#gpu.load(problem.operation).then((gpu) => gpu.merge(problem));
  }

  override rotary(problem: RotaryProblem): Eventually<PlacedOutput> {
    if (!liesOnGpu(problem, [problem.x, problem.output.into?.place])) return super.rotary(problem);
    return this.#gpu.load(problem.operation).then((gpu) => gpu.rotary(problem));
  }

  override attention(problem: AttentionProblem): Eventually<PlacedResult> {
    if (!touchesGpu(problem)) return super.attention(problem);
    return this.#gpu.load(problem.operation).then((gpu) => gpu.attention(problem));
  }

  override dispose(): void {
    this.#disposed = true;
    this.#gpu.loaded?.dispose();
    super.dispose();
  }
}

function touchesGpu({ query, key, value, settings, output, ...problem }: AttentionProblem): boolean {
  const masks = [settings.mask?.tensor, settings.bias?.tensor];
  return liesOnGpu(problem, [query, key, value, ...masks, output.into?.place]);
}

/** Whether a tensor of the call lies on the GPU, or a result stays there. */
function liesOnGpu(
  { location }: { readonly location: "cpu" | "gpu" },
  tensors: readonly (PlacedTensor | undefined)[],
): boolean {
  return location === "gpu" || tensors.some((tensor) => tensor?.gpu);
}
