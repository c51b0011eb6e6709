import type { DecoderConfig } from "../../generate/decoderFile.js";
import type { Taking } from "../../generate/sampling.js";
import { Checks } from "./checks.js";
import type { Difference } from "./difference.js";
import { EngineError } from "./engine.js";
import type { ExperimentOrder, ExperimentResult } from "./experimentProtocol.js";
import type { DecoderName, Endless, GenerateReply, GenerateRequest, Writing, Written } from "./generateProtocol.js";
import worker from "./generateWorker.js?worker&url";
import { moduleWorker } from "./moduleWorker.js";
import type { PronounStudy } from "./pronounProtocol.js";
import type { EngineChoice } from "./protocol.js";
import { t } from "../../texts/t.js";

export interface GeneratingEvents {
  opened(config: DecoderConfig, threads: number): void;
  written(written: Written, isDone: boolean): void;
  endless(endless: Endless, isDone: boolean): void;
  /** Without a study: something else was asked for before it was done. */
  asked(study: PronounStudy | undefined): void;
  tried(result: ExperimentResult): void;
  failed(error: Error): void;
}

/** A decoder that writes, in a worker of its own. */
export class Generating {
  readonly #worker = moduleWorker(worker);
  readonly #checks = new Checks();
  /** The number of the latest beginning. What is still written from an earlier one is not heard. */
  #beginning = 0;

  constructor(decoder: DecoderName, engine: EngineChoice, events: GeneratingEvents) {
    this.#worker.onmessage = ({ data }: MessageEvent<GenerateReply>) => {
      if (data.kind === "opened") events.opened(data.config, data.threads);
      else if (data.kind === "written") this.#hear(data, events);
      else if (data.kind === "endless") events.endless(data.endless, data.isDone);
      else if (data.kind === "asked") events.asked(data.study);
      else if (data.kind === "tried") events.tried(data.result);
      else if (data.kind === "checked") this.#checks.answer(data.differences);
      else events.failed(new EngineError(data.reason));
    };
    this.#worker.onerror = (event) => events.failed(new Error(event.message || t`the worker could not be loaded`));
    this.#say({ kind: "open", decoder, engine });
  }

  /** Reads a beginning. What was written before is forgotten. */
  begin(writing: Writing): void {
    this.#say({ kind: "begin", beginning: ++this.#beginning, writing });
  }

  take({ temperature, topK }: Taking): void {
    this.#say({ kind: "take", taking: { temperature, topK } });
  }

  write(tokens: number): void {
    this.#say({ kind: "write", tokens });
  }

  choose(token: number): void {
    this.#say({ kind: "choose", token });
  }

  stop(): void {
    this.#say({ kind: "stop" });
  }

  /** Reads a text that the decoder has not learned from, with a ring and without. */
  readOn(ring: { readonly window: number; readonly keepFirst: number }): void {
    this.#say({ kind: "endless", ...ring });
  }

  /** Asks all heads what pronouns mean: in stories that the decoder has not seen, and in what is written. */
  ask(): void {
    this.#say({ kind: "ask" });
  }

  try(order: ExperimentOrder): void {
    this.#say({ kind: "try", order });
  }

  /** How far the weights of the newest token are from their definition in double precision. */
  check(): Promise<readonly Difference[]> {
    return this.#checks.ask(() => this.#say({ kind: "check" }));
  }

  /** Ends the worker, and the checks that wait. */
  close(): void {
    this.#worker.terminate();
    this.#checks.end(new Error(t`the model was closed`));
  }

  #hear({ beginning, written, isDone }: Extract<GenerateReply, { kind: "written" }>, events: GeneratingEvents): void {
    if (beginning === this.#beginning) events.written(written, isDone);
  }

  #say(request: GenerateRequest): void {
    this.#worker.postMessage(request);
  }
}
