import { DisposedError } from "../base/errors.js";
import type { Engine } from "../engine/engine.js";
import type { GpuEngine } from "../engine/gpuModule.js";
import { NO_CALIBRATION, type EngineName, type LiveReport } from "../engine/report.js";
import type { Eventually, Recorded } from "../turn/context.js";
import { Late } from "../turn/late.js";
import { Calibrator, type Candidate, type Failed } from "./calibrator.js";
import { isGpuFailure } from "./failure.js";
import type { CalibrationHost } from "./host.js";
import { assertAllIntact, type ProblemTensors } from "./tensors.js";

/** How an AutoEngine calibrates. */
export interface Calibrating {
  readonly host: Omit<CalibrationHost, "open">;
  /** Number of threads of wasm. */
  readonly threads: number;
  /** Called when the report has changed, beside the speeds. */
  readonly onChange?: () => void;
}

/** The two engines of `backend: "auto"`, and the calibration that chooses between them. */
export class Engines {
  readonly wasm: Engine;
  /** Absent if no call goes to the GPU that need not. */
  readonly calibrator: Calibrator | undefined;
  readonly #gpu: Late<GpuEngine>;
  readonly #why: string;
  #disposed = false;
  /** Settles when the engines are disposed. */
  readonly #ended: Promise<void>;
  #end!: () => void;

  /**
   * @param why - Why calls do not go to WebGPU if there is no calibration.
   * @param inTurn - Runs work between two calls of the instance.
   */
  constructor(
    wasm: Engine,
    open: (operation: string) => Promise<GpuEngine>,
    inTurn: <T>(work: () => Eventually<T>) => Promise<T>,
    calibrating: Calibrating | string,
  ) {
    this.wasm = wasm;
    this.#ended = new Promise((resolve) => (this.#end = resolve));
    this.#gpu = new Late(async (operation) => {
      const gpu = await open(operation);
      if (this.#disposed) gpu.dispose();
      return gpu;
    });
    this.#why = typeof calibrating === "string" ? calibrating : "";
    if (typeof calibrating === "string") return;
    const { host, threads, onChange } = calibrating;
    const whole: CalibrationHost = { ...host, open: () => this.gpu("createAttention") };
    this.calibrator = new Calibrator(wasm, threads, whole, inTurn, onChange);
  }

  /** The GPU, if it is open. */
  get openGpu(): GpuEngine | undefined {
    return this.#gpu.loaded;
  }

  /** The GPU. The first call opens it, which a browser may never do: then it waits until the engines are disposed. */
  gpu(operation: string): Promise<GpuEngine> {
    const opening = this.#gpu.load(operation);
    if (this.#gpu.loaded) return opening;
    const ended = this.#ended.then(() => {
      throw new DisposedError(`${operation}: the instance was disposed while the call ran`);
    });
    return Promise.race([opening, ended]);
  }

  get live(): LiveReport {
    const { adapter } = this.#gpu.loaded ?? {};
    const rest = this.calibrator?.report ?? { calibration: NO_CALIBRATION, webgpuReason: this.#why };
    const { productBlock } = this.wasm.live ?? {};
    return { ...rest, ...(productBlock && { productBlock }), ...(adapter && { adapter }) };
  }

  /** Runs work on the GPU because its tensors lie there, or because the caller has placed it there. */
  async direct<T>(operation: string, work: (gpu: GpuEngine) => Eventually<T>): Promise<T> {
    return this.#onGpu(await this.gpu(operation), work);
  }

  /** Records commands, at once if the GPU is open. */
  recorded<T>(operation: string, record: (gpu: GpuEngine) => Recorded<T>): Recorded<T> {
    const { loaded } = this.#gpu;
    if (loaded) {
      if (this.calibrator) loaded.tiling = this.calibrator.tilingFor(loaded);
      return record(loaded);
    }
    return { atOnce: false, results: this.gpu(operation).then((gpu) => record(gpu).results) };
  }

  /** Runs work on one of the engines. */
  on<T>(place: EngineName, operation: string, work: (engine: Engine) => Eventually<T>): Eventually<T> {
    return place === "wasm" ? work(this.wasm) : this.direct(operation, work);
  }

  /**
   * Computes a call whose tensors lie in JavaScript: on the engine that is predicted to be faster, and on wasm if the GPU
   * fails.
   */
  compute<T>(
    problem: ProblemTensors,
    candidateOf: () => Candidate,
    work: (engine: Engine) => Eventually<T>,
    before?: () => void,
  ): Eventually<T> {
    const { calibrator } = this;
    if (!calibrator) return work(this.wasm);
    const candidate = candidateOf();
    const gpu = calibrator.engineFor(candidate) === "webgpu" ? calibrator.gpu : undefined;
    if (!gpu) return this.timed("wasm", candidate, () => work(this.wasm));
    before?.();
    return this.timedOnGpu(gpu, candidate, work).catch((error: unknown) => {
      if (!this.rescues(error, candidate)) throw error;
      assertAllIntact(problem);
      return this.timed("wasm", candidate, () => work(this.wasm));
    });
  }

  /**
   * Computes a call whose tensors lie in JavaScript where a call like `candidate` is predicted to be faster. Its time
   * teaches nothing.
   */
  computeLike<T>(
    problem: ProblemTensors,
    candidateOf: () => Candidate,
    work: (engine: Engine) => Eventually<T>,
  ): Eventually<T> {
    const { calibrator } = this;
    if (!calibrator) return work(this.wasm);
    const candidate = candidateOf();
    const gpu = calibrator.engineFor(candidate) === "webgpu" ? calibrator.gpu : undefined;
    if (!gpu) return work(this.wasm);
    return this.#onGpu(gpu, work, candidate).catch((error: unknown) => {
      if (!this.rescues(error, candidate)) throw error;
      assertAllIntact(problem);
      return work(this.wasm);
    });
  }

  /** Whether wasm computes a call on which the GPU has failed. The report then says so. */
  rescues(error: unknown, candidate: Failed): boolean {
    if (this.#disposed || !isGpuFailure(error)) return false;
    this.calibrator?.fellBack(candidate, error);
    return true;
  }

  /** Runs work on the GPU with the tiling for its kind, and learns from its time. */
  timedOnGpu<T>(gpu: GpuEngine, candidate: Candidate, work: (engine: GpuEngine) => Eventually<T>): Promise<T> {
    return this.#onGpu(gpu, () => this.timed("webgpu", candidate, () => work(gpu)), candidate);
  }

  /** Runs work and learns from its time. A call that fails teaches nothing. */
  timed<T>(engine: EngineName, candidate: Candidate, work: () => Eventually<T>): Eventually<T> {
    const { calibrator } = this;
    if (!calibrator) return work();
    const begin = calibrator.seconds();
    const done = (result: T): T => {
      calibrator.learn(engine, candidate, calibrator.seconds() - begin);
      return result;
    };
    const result = work();
    return result instanceof Promise ? result.then(done) : done(result);
  }

  #onGpu<T>(gpu: GpuEngine, work: (gpu: GpuEngine) => Eventually<T>, candidate?: Candidate): Promise<T> {
    if (this.calibrator) return this.calibrator.onGpu(gpu, () => work(gpu), candidate?.kind);
    return Promise.resolve(work(gpu));
  }

  dispose(): void {
    this.#disposed = true;
    this.calibrator?.end();
    this.#end();
    this.#gpu.loaded?.dispose();
    this.wasm.dispose();
  }
}
