import type { ModelFiles } from "../../train/gpt2Files.js";
import { Answers } from "./answers.js";
import { Checks } from "./checks.js";
import type { Difference } from "./difference.js";
import { EngineError } from "./engine.js";
import { moduleWorker } from "./moduleWorker.js";
import type { Gains, KeptPair, TrainOrder, TrainReply, TrainRequest } from "./trainProtocol.js";
import worker from "./trainWorker.js?worker&url";
import { t } from "../../texts/t.js";

export type TrainingEvent = Exclude<TrainReply, { kind: "failed" | "file" | "model" | "kept" | "checked" }>;

/** A training in a worker of its own. */
export class Training {
  readonly #worker = moduleWorker(worker);
  readonly #onFailure: (error: Error) => void;
  readonly #files = new Answers<Uint8Array<ArrayBuffer>>();
  readonly #models = new Answers<ModelFiles>();
  readonly #keeps = new Answers<KeptPair>();
  readonly #checks = new Checks();

  constructor(order: TrainOrder, onEvent: (event: TrainingEvent) => void, onFailure: (error: Error) => void) {
    this.#onFailure = (error) => {
      this.#end(error);
      onFailure(error);
    };
    this.#worker.onmessage = ({ data }: MessageEvent<TrainReply>) => {
      if (data.kind === "failed") this.#onFailure(new EngineError(data.reason));
      else if (data.kind === "file") this.#files.answer(data.bytes);
      else if (data.kind === "model") this.#models.answer(data.files);
      else if (data.kind === "kept") this.#keeps.answer(data.kept);
      else if (data.kind === "checked") this.#checks.answer(data.differences);
      else onEvent(data);
    };
    this.#worker.onerror = (event) => this.#onFailure(new Error(event.message || t`the worker could not be loaded`));
    this.#say({ kind: "begin", order });
  }

  /** Learns for this many steps, or until `pause`. */
  run(steps = Number.MAX_SAFE_INTEGER): void {
    this.#say({ kind: "run", steps });
  }

  /** Ends after the step that runs. */
  pause(): void {
    this.#say({ kind: "pause" });
  }

  switchHeads(gains: Gains): void {
    this.#say({ kind: "gains", gains });
  }

  /** Shows a checkpoint; undefined: the latest step, and every later one. */
  show(step: number | undefined): void {
    this.#say({ kind: "show", step });
  }

  /**
   * A `.safetensors` file of what is shown: the weights of the two layers; or the queries, keys and values of one layer
   * on the held-out sequence. Layers count from 1.
   */
  file(layer?: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#files.ask(() => this.#say({ kind: "file", layer }));
  }

  /** What is shown as the files of a GPT-2. Its positions must not be rotary. */
  model(): Promise<ModelFiles> {
    return this.#models.ask(() => this.#say({ kind: "model" }));
  }

  /** What this training goes on from; undefined if it has ended. What it has told before is part of it. */
  keep(): Promise<KeptPair | undefined> {
    return this.#keeps.ask(() => this.#say({ kind: "keep" })).catch(() => undefined);
  }

  /** How far the maps that are shown are from their definition in double precision. */
  check(): Promise<readonly Difference[]> {
    return this.#checks.ask(() => this.#say({ kind: "check" }));
  }

  /** Ends the worker, and what was asked of it. */
  close(): void {
    this.#worker.terminate();
    this.#end(new Error(t`the training has ended`));
  }

  #end(error: Error): void {
    for (const asked of [this.#files, this.#models, this.#keeps, this.#checks]) asked.end(error);
  }

  #say(request: TrainRequest): void {
    this.#worker.postMessage(request);
  }
}
