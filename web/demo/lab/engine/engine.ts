import type {
  AttentionOptions,
  AttentionResult,
  FloatTensor,
  ForwardOptions,
  LayerOptions,
  Report,
  ResultOf,
  Returns,
  RotaryOptions,
} from "headwise";

import type { Anatomy } from "../../model/anatomy.js";
import type { EncodeOptions, Encoding } from "../../model/encoder.js";
import type { BenchFigure, BenchOrder } from "./bench.js";
import type { EngineChoice, Failure, JobName, Jobs, Reply, Request } from "./protocol.js";
import type { Floats } from "./floats.js";
import { moduleWorker } from "./moduleWorker.js";
import workerUrl from "./worker.js?worker&url";
import { said, t } from "../../texts/t.js";
import { troubleWords } from "./trouble.js";

/** The progress of something that takes long. */
export interface Progress {
  readonly what: string;
  readonly done: number;
  readonly total: number;
  readonly unit: string;
}

export interface EngineEvents {
  onReport(report: Report): void;
  onUnusable(reason: Failure): void;
  /** Called with the number of calls that wait for an answer. */
  onCalls(open: number): void;
  onProgress(progress: Progress): void;
  onTime(milliseconds: number): void;
}

/** The type of the result of a call with these options. */
type Given<O extends { readonly returns?: Returns | undefined }> = O["returns"] extends Returns
  ? ResultOf<O["returns"]>
  : AttentionResult;

interface Call {
  resolve(value: never): void;
  reject(error: Error): void;
}

/**
 * headwise in a worker. All rooms compute through this class. Methods have the names and arguments of the package.
 * Arguments are copied to the worker. If the worker cannot be used, the calls that wait fail, and the next call starts
 * another worker.
 */
export class Engine {
  /** What the visitor has chosen. */
  readonly choice: EngineChoice;
  readonly #events: EngineEvents;
  readonly #calls = new Map<number, Call>();
  #worker: Worker | undefined;
  #lastId = 0;

  constructor(choice: EngineChoice, events: EngineEvents) {
    this.choice = choice;
    this.#events = events;
    this.#worker = this.#start();
  }

  scaledDotProductAttention<const O extends AttentionOptions>(query: Floats, key: Floats, value: Floats, options: O) {
    return this.#run("attention", { query, key, value, options }) as Promise<Given<O>>;
  }

  /** Makes a layer, calls it once and disposes it. */
  forward<const O extends Omit<ForwardOptions, "location">>(layer: LayerOptions, x: Floats, options: O) {
    return this.#run("layer", { layer, x, options }) as Promise<Given<O>>;
  }

  rotaryEmbedding(x: Floats, options: RotaryOptions): Promise<FloatTensor> {
    return this.#run("rotary", { x, options });
  }

  encode(texts: readonly string[], options: EncodeOptions): Promise<readonly Encoding[]> {
    return this.#run("encode", { texts, options });
  }

  /** The same, but attention is computed by its definition in double precision. */
  encodeExactly(texts: readonly string[], options: EncodeOptions): Promise<readonly Encoding[]> {
    return this.#run("encode", { texts, options, exact: true });
  }

  /** What the encoder's attention does with each token of a text, in the numbers that a picture needs. */
  anatomy(text: string, options: EncodeOptions, exact = false): Promise<Anatomy> {
    return this.#run("anatomy", { text, options, exact });
  }

  bench(order: BenchOrder): Promise<readonly BenchFigure[]> {
    return this.#run("bench", order);
  }

  /** Ends a bench that runs. It resolves with the figures that it has. */
  cancelBench(): void {
    if (this.#worker) this.#say(this.#worker, { kind: "cancelBench" });
  }

  /** Ends the worker. Calls that wait are rejected. */
  close(): void {
    this.#end({ message: t`the engine was closed` });
  }

  #run<Name extends JobName>(name: Name, takes: Jobs[Name]["takes"]): Promise<Jobs[Name]["gives"]> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#calls.set(id, { resolve, reject });
      this.#events.onCalls(this.#calls.size);
      this.#worker ??= this.#start();
      this.#say(this.#worker, { kind: "job", id, name, takes });
    });
  }

  #start(): Worker {
    const worker = moduleWorker(workerUrl);
    worker.onmessage = ({ data }: MessageEvent<Reply>) => this.#hear(data);
    worker.onerror = (event) => void this.#explain(worker, event.message);
    this.#say(worker, { kind: "open", choice: this.choice });
    return worker;
  }

  /** A worker that was not loaded has no message. Loading its file again tells why. */
  async #explain(worker: Worker, words: string): Promise<void> {
    const message = words || t`${workerUrl} could not be loaded: ${await whyNotLoaded(workerUrl)}`;
    if (worker === this.#worker) this.#giveUp({ message });
  }

  #giveUp(reason: Failure): void {
    this.#events.onUnusable(reason);
    this.#end(reason);
  }

  #end(reason: Failure): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const id of [...this.#calls.keys()]) this.#settle(id, (call) => call.reject(new EngineError(reason)));
  }

  #say(worker: Worker, request: Request): void {
    worker.postMessage(request);
  }

  #hear(reply: Reply): void {
    switch (reply.kind) {
      case "report":
        return this.#events.onReport(reply.report);
      case "unusable":
        return this.#giveUp(reply.reason);
      case "progress":
        return this.#events.onProgress({ ...reply, what: said(reply.what) }); // a worker says it in English
      case "done":
        this.#events.onTime(reply.milliseconds);
        return this.#settle(reply.id, (call) => call.resolve(reply.gives as never));
      case "failed":
        return this.#settle(reply.id, (call) => call.reject(new EngineError(reply.reason)));
      default:
        reply satisfies never;
    }
  }

  #settle(id: number, settle: (call: Call) => void): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    this.#events.onCalls(this.#calls.size);
    if (call) settle(call);
  }
}

async function whyNotLoaded(url: string): Promise<string> {
  try {
    const { ok, status } = await fetch(url, { cache: "no-store" });
    return ok ? t`the browser does not run it as a worker` : t`the server answers with status ${status}`;
  } catch {
    return t`the server does not answer`;
  }
}

/** A call that failed. The message says what the visitor can do. */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly hint: string | undefined;

  constructor({ message, hint, trouble, isOfChoice }: Failure) {
    super(trouble ? troubleWords(trouble) : message);
    const again = isOfChoice
      ? t`At the top of the page, under “no engine”, “Automatic” takes what this device has.`
      : undefined;
    this.hint = [hint, again].filter(Boolean).join(" ") || undefined;
  }
}
