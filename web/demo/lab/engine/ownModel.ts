import type { ModelPlan, Precision } from "headwise/models";

import { named, type Difference } from "./difference.js";
import { EngineError } from "./engine.js";
import type { HubModel } from "./hubModels.js";
import type {
  HeadPlace,
  ModelFacts,
  ModelOrder,
  ModelReply,
  ModelRequest,
  ModelSource,
  Seen,
  WordStudy,
} from "./modelProtocol.js";
import worker from "./modelWorker.js?worker&url";
import { moduleWorker } from "./moduleWorker.js";
import type { EngineChoice } from "./protocol.js";
import { t } from "../../texts/t.js";

/** What the visitor gives; undefined: nothing, so that the example is shown. */
export type GivenModel = readonly File[] | HubModel | undefined;

interface Waiting {
  resolve(reply: ModelReply): void;
  reject(error: Error): void;
}

/** What is heard of a study. */
export interface StudyEvents {
  /** After each head, or after several. */
  found(study: WordStudy): void;
  failed(error: Error): void;
}

/**
 * A model of the visitor, in a worker of its own. It is planned first, and loaded later. It answers in the order of the
 * calls; a study goes on between them.
 */
export class OwnModel {
  /** What would be loaded. No weight is read for it. */
  readonly planned: Promise<ModelPlan>;
  #opened: Promise<ModelFacts> | undefined;
  readonly #worker = moduleWorker(worker);
  readonly #waiting: Waiting[] = [];
  /** The number of the latest study. What an earlier one still says is not heard. */
  #studyId = 0;
  #studyEvents: StudyEvents | undefined;

  /** @param given - Files, or the name of a model on the hub; undefined: the example. */
  constructor(given: GivenModel, engine: EngineChoice, onProgress: (loaded: number, total: number) => void) {
    this.#worker.onmessage = ({ data }: MessageEvent<ModelReply>) => {
      if (data.kind === "progress") onProgress(data.loaded, data.total);
      else if ("id" in data) this.#hear(data);
      else if (data.kind === "failed") this.#waiting.shift()?.reject(new EngineError(data.reason));
      else this.#waiting.shift()?.resolve(data);
    };
    this.#worker.onerror = (event) => this.#fail(new Error(event.message || t`the worker could not be loaded`));
    const request = { kind: "plan", from: sourceOf(given), engine } as const;
    this.planned = this.#ask(request, "planned").then(({ plan }) => plan);
    this.planned.catch(() => undefined); // `planned` rejects where it is awaited
  }

  /** What is known of the model once it is loaded; undefined before `load` is called. */
  get opened(): Promise<ModelFacts> | undefined {
    return this.#opened;
  }

  /** Reads the weights, and keeps matrices in this precision. */
  load(precision: Precision): Promise<ModelFacts> {
    this.#opened = this.#ask({ kind: "open", precision }, "opened").then(({ facts }) => facts);
    this.#opened.catch(() => undefined); // it rejects where it is awaited
    return this.#opened;
  }

  async see(order: ModelOrder): Promise<Seen> {
    return (await this.#ask({ kind: "see", order }, "seen")).seen;
  }

  /** How far the weights of a head, without changes, are from their definition in double precision. */
  async check(order: ModelOrder, place: HeadPlace): Promise<readonly Difference[]> {
    return named((await this.#ask({ kind: "check", order, place }, "checked")).differences);
  }

  /** Studies the word of the order, and ends the study before this one. */
  study(order: ModelOrder, events: StudyEvents): void {
    this.#studyEvents = events;
    this.#worker.postMessage({ kind: "study", id: ++this.#studyId, order } satisfies ModelRequest);
  }

  endStudy(): void {
    this.#studyEvents = undefined;
    this.#worker.postMessage({ kind: "study", id: ++this.#studyId, order: undefined } satisfies ModelRequest);
  }

  /** Ends the worker, the study, and all calls that wait. */
  close(): void {
    this.#worker.terminate();
    this.#studyEvents = undefined;
    this.#fail(new Error(t`the model was closed`));
  }

  #hear(reply: Extract<ModelReply, { readonly id: number }>): void {
    if (reply.id !== this.#studyId) return;
    if (reply.kind === "studied") this.#studyEvents?.found(reply.study);
    else this.#studyEvents?.failed(new EngineError(reply.reason));
  }

  #ask<K extends ModelReply["kind"]>(request: ModelRequest, kind: K): Promise<Extract<ModelReply, { kind: K }>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        resolve: (reply) => (reply.kind === kind ? resolve(reply as Extract<ModelReply, { kind: K }>) : reject(new Error(`${kind} was asked, and ${reply.kind} was answered`))), // oxfmt-ignore
        reject,
      });
      this.#worker.postMessage(request);
    });
  }

  #fail(error: Error): void {
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}

function sourceOf(given: GivenModel): ModelSource {
  if (given === undefined || "name" in given) return given;
  // A copy of a file does not know its folder any more.
  return { files: Object.fromEntries(given.map((file) => [file.webkitRelativePath || file.name, file])) };
}
