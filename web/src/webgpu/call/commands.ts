import type { Binding } from "./bindGroups.js";
import type { GpuCore } from "./core.js";
import type { Kernel } from "../kernels/kernel.js";
import { pipelineOf, readyPipeline, type Compiled } from "../device/pipelines.js";
import type { Span } from "./span.js";
import type { Timer } from "./timer.js";

interface Dispatch {
  readonly kernel: Kernel;
  /** undefined until the kernel is compiled. */
  compiled: Compiled | undefined;
  readonly bindings: readonly Binding[];
  readonly grid: readonly [number, number];
  /** Its floating-point operations, if it may take long; of those, the ones that it does whatever the values are. */
  readonly operations: number;
  readonly certain: number;
}

/** Dispatches from one number to another. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

interface Copy {
  readonly from: Span;
  readonly to: Span;
}

/** The commands of one call, in the order in which the GPU runs them: clears, copies in, kernels, copies out. */
export class Commands {
  readonly #core: GpuCore;
  readonly #clears: Span[] = [];
  readonly #copiesIn: Copy[] = [];
  readonly #dispatches: Dispatch[] = [];
  readonly #copiesOut: Copy[] = [];

  constructor(core: GpuCore) {
    this.#core = core;
  }

  clear(span: Span): void {
    this.#clears.push(span);
  }

  copyIn(from: Span, to: Span): void {
    this.#copiesIn.push({ from, to });
  }

  dispatch(
    kernel: Kernel,
    bindings: readonly Binding[],
    grid: readonly [number, number],
    work: Pick<Dispatch, "operations" | "certain">,
  ): void {
    const compiled = readyPipeline(this.#core.device.gpuDevice, kernel);
    this.#dispatches.push({ kernel, compiled, bindings, grid, ...work });
  }

  /** Lists kernels of another list too. Once compiled, they are for both. */
  append(other: Commands, { from, to }: Range): void {
    for (let n = from; n < to; ++n) this.#dispatches.push(other.#dispatches[n]!);
  }

  copyOut(from: Span, to: Span): void {
    this.#copiesOut.push({ from, to });
  }

  get isEmpty(): boolean {
    return this.#dispatches.length === 0 && this.countOfOthers === 0;
  }

  /** The number of clears and copies. */
  get countOfOthers(): number {
    return this.#clears.length + this.#copiesIn.length + this.#copiesOut.length;
  }

  /** The floating-point operations of the dispatches. */
  get operations(): readonly number[] {
    return this.#dispatches.map(({ operations }) => operations);
  }

  /** Those of some dispatches that do not depend on values. They tell how fast the device is. */
  certain({ from, to }: Range): number {
    return this.#dispatches.slice(from, to).reduce((sum, { certain }) => sum + certain, 0);
  }

  /** The names of the kernels, for the timer. */
  get kernelNames(): readonly string[] {
    return this.#dispatches.map(({ kernel }) => kernel.name);
  }

  /** Whether all kernels are compiled. */
  get areCompiled(): boolean {
    return this.#dispatches.every(({ compiled }) => compiled !== undefined);
  }

  async compile(operation: string): Promise<void> {
    const { device } = this.#core;
    const compiling = this.#dispatches.map(async (dispatch) => {
      dispatch.compiled ??= await pipelineOf(operation, device.gpuDevice, dispatch.kernel);
    });
    await device.whileAlive(operation, Promise.all(compiling));
  }

  /**
   * Records dispatches in one compute pass, or in one for each kernel if they are timed. They must be compiled. Clears and
   * copies in come before the first dispatch, copies out after the last.
   */
  record(encoder: GPUCommandEncoder, label: string, timer: Timer | undefined, { from, to }: Range): void {
    if (from === 0) {
      for (const { buffer, offset, bytes } of this.#clears) encoder.clearBuffer(buffer, offset, bytes);
      copyAll(encoder, this.#copiesIn);
    }
    const dispatches = this.#dispatches.slice(from, to);
    if (timer) this.#recordTimed(encoder, timer, dispatches, from);
    else if (dispatches.length > 0) {
      const pass = encoder.beginComputePass({ label });
      for (const dispatch of dispatches) this.#dispatch(pass, dispatch);
      pass.end();
    }
    if (to < this.#dispatches.length) return;
    copyAll(encoder, this.#copiesOut);
    timer?.resolve(encoder);
  }

  #recordTimed(encoder: GPUCommandEncoder, timer: Timer, dispatches: readonly Dispatch[], first: number): void {
    dispatches.forEach((dispatch, n) => {
      const pass = encoder.beginComputePass({ label: dispatch.kernel.name, ...timer.writes(first + n) });
      this.#dispatch(pass, dispatch);
      pass.end();
    });
  }

  #dispatch(pass: GPUComputePassEncoder, { compiled, bindings, grid }: Dispatch): void {
    pass.setPipeline(compiled!.pipeline);
    pass.setBindGroup(0, this.#core.bindGroups.of(compiled!, bindings));
    pass.dispatchWorkgroups(...grid);
  }
}

function copyAll(encoder: GPUCommandEncoder, copies: readonly Copy[]): void {
  for (const { from, to } of copies)
    if (from.bytes > 0) encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, from.bytes);
}
