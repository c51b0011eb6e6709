import type { Difference } from "./difference.js";
import { EngineError } from "./engine.js";
import type { HeadPlace, ModelFacts, ModelOrder, ModelReply, ModelRequest, Seen } from "./modelProtocol.js";
import worker from "./modelWorker.js?worker&url";
import { moduleWorker } from "./moduleWorker.js";
import type { EngineChoice } from "./protocol.js";

interface Waiting {
  resolve(reply: ModelReply): void;
  reject(error: Error): void;
}

/** A model of the visitor, in a worker of its own. It answers in the order of the calls. */
export class OwnModel {
  /** What is known of the model once it is loaded. */
  readonly opened: Promise<ModelFacts>;
  readonly #worker = moduleWorker(worker);
  readonly #waiting: Waiting[] = [];

  /** @param files - undefined: the example. */
  constructor(
    files: readonly File[] | undefined,
    engine: EngineChoice,
    onProgress: (loaded: number, total: number) => void,
  ) {
    this.#worker.onmessage = ({ data }: MessageEvent<ModelReply>) => {
      if (data.kind === "progress") onProgress(data.loaded, data.total);
      else if (data.kind === "failed") this.#waiting.shift()?.reject(new EngineError(data.reason));
      else this.#waiting.shift()?.resolve(data);
    };
    this.#worker.onerror = (event) => this.#fail(new Error(event.message || "the worker could not be loaded"));
    // A copy of a file does not know its folder any more.
    const byPath = files?.map((file) => [file.webkitRelativePath || file.name, file] as const);
    this.opened = this.#ask({ kind: "open", files: byPath && Object.fromEntries(byPath), engine }, "opened").then(
      ({ facts }) => facts,
    );
    this.opened.catch(() => undefined); // whoever waits for it is told
  }

  async see(order: ModelOrder): Promise<Seen> {
    return (await this.#ask({ kind: "see", order }, "seen")).seen;
  }

  /** How far the weights of a head, without changes, are from their definition in double precision. */
  async check(order: ModelOrder, place: HeadPlace): Promise<readonly Difference[]> {
    return (await this.#ask({ kind: "check", order, place }, "checked")).differences;
  }

  /** Ends the worker, and all calls that wait. */
  close(): void {
    this.#worker.terminate();
    this.#fail(new Error("the model was closed"));
  }

  #ask<K extends ModelReply["kind"]>(request: ModelRequest, kind: K): Promise<Extract<ModelReply, { kind: K }>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        resolve: (reply) => (reply.kind === kind ? resolve(reply as Extract<ModelReply, { kind: K }>) : reject(new Error(`${kind} was asked, and ${reply.kind} was answered`))), // prettier-ignore
        reject,
      });
      this.#worker.postMessage(request);
    });
  }

  #fail(error: Error): void {
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}
