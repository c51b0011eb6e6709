import type { AttentionProblem } from "../attentionProblem.js";
import type { AttentionResult } from "../backend.js";
import { runAttention } from "./attention.js";
import { makeEngine, type Engine } from "./engine.js";
import type { Device } from "./device.js";

/** The WebGPU engine as a backend: each operation has its file. */
export class WebgpuBackend {
  readonly #engine: Engine;

  constructor(device: Device) {
    this.#engine = makeEngine(device);
  }

  attention(problem: AttentionProblem): Promise<AttentionResult> {
    return runAttention(this.#engine, problem);
  }

  dispose(): void {
    this.#engine.pool.destroy();
    this.#engine.device.release();
  }
}
