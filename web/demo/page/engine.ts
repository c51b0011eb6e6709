import type { Report } from "headwise";

import type { Encoding } from "../model/encoder.js";
import type { EncodeRequest, WorkerMessage } from "./protocol.js";

export interface EngineEvents {
  onProgress(loaded: number, total: number): void;
  onReady(report: Report): void;
  onEncoded(encodings: readonly Encoding[], milliseconds: number): void;
  onFailure(message: string): void;
}

/** The encoder in its worker. One request runs at a time; of those that come meanwhile only the newest is run. */
export class Engine {
  readonly #worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  readonly #events: EngineEvents;
  #running = false;
  #next: EncodeRequest | undefined;
  #lastId = 0;

  constructor(events: EngineEvents) {
    this.#events = events;
    this.#worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => this.#hear(data);
    this.#worker.onerror = (event) => events.onFailure(event.message || "the worker could not be loaded");
  }

  encode(texts: readonly string[], positions: boolean): void {
    this.#next = { id: ++this.#lastId, texts, positions };
    this.#send();
  }

  #send(): void {
    if (this.#running || !this.#next) return;
    this.#worker.postMessage(this.#next);
    this.#running = true;
    this.#next = undefined;
  }

  #hear(message: WorkerMessage): void {
    switch (message.kind) {
      case "progress":
        return this.#events.onProgress(message.loaded, message.total);
      case "ready":
        return this.#events.onReady(message.report);
      case "encoded":
        this.#running = false;
        if (message.id === this.#lastId) this.#events.onEncoded(message.encodings, message.milliseconds);
        return this.#send();
      case "failed":
        this.#running = false;
        return this.#events.onFailure(message.message);
      default:
        message satisfies never;
    }
  }
}
