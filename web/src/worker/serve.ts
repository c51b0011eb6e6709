import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { Engine } from "../engine/engine.js";
import type { KernelTime, LiveReport } from "../engine/report.js";
import { scoreDerivatives } from "../formula/derivatives.js";
import { knownFormula } from "../formula/knownGraph.js";
import { openEngine } from "../instance/openEngine.js";
import type { EngineParts } from "../instance/parts.js";
import { bringFormulas } from "../instance/parts/formulas.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { EngineSaved } from "../layer/engineSaved.js";
import { compiledFilesOf, keepCompiledFile, type CompiledFile } from "../load/compiledFiles.js";
import type { EngineFiles } from "../load/engineFiles.js";
import type { Host } from "../load/host.js";
import type { EngineStep } from "../step/stepProblem.js";
import { Queue } from "../turn/queue.js";
import { errorParts } from "./errorParts.js";
import {
  ENGINE,
  SIGN_MILLISECONDS,
  type Method,
  type ObjectNews,
  type ObjectState,
  type Reply,
  type Request,
} from "./protocol.js";
import { sendCompiled } from "./sendCompiled.js";
import { buffersOf } from "./shipment.js";

/** Sends a reply. The memory in `transfer` is transferred. */
type Send = (reply: Reply, transfer?: ArrayBuffer[]) => void;

/** What the engines of a worker come from, by the addresses of the files. */
export interface Source {
  readonly hostOf: (files: EngineFiles) => Host;
  readonly codeOf: (files: EngineFiles) => EngineParts;
}

/** Answers requests with the engine that a host opens. Requests arrive one at a time. */
export function serve(source: Source, send: Send): (request: Request) => Promise<void> {
  bringFormulas();
  const server = new Server(source, send);
  return async (request) => {
    switch (request.kind) {
      case "compiled":
        return request.files.forEach(keepCompiledFile);
      case "open":
        return server.open(request);
      case "call":
        return server.call(request);
    }
  };
}

/** What an engine can make. */
type Made = EngineCache | EngineLayer | EngineSaved | EngineStep;

/** A part of a step as it is sent: a layer and its cache are the numbers of objects. */
type SentPart = { readonly kind: string; readonly layer?: number; readonly problem?: { readonly cache?: number } };

class Server {
  readonly #source: Source;
  readonly #send: Send;
  readonly #objects = new Map<number, Made>();
  /** The caches of each step, which its runs change. */
  readonly #cachesOfSteps = new Map<number, readonly number[]>();
  /** Requests, and what the engine does between them. */
  readonly #queue = new Queue();
  #lastObject = ENGINE;
  #engine: Engine | undefined;
  #sentBlock: string | undefined;
  #files: EngineFiles = {};
  /** The compiled files that the client has. */
  #known: ReadonlySet<CompiledFile> = new Set();

  constructor(source: Source, send: Send) {
    this.#source = source;
    this.#send = send;
  }

  async open({ id, operation, options, progress }: Extract<Request, { readonly kind: "open" }>): Promise<void> {
    const onProgress = progress ? (now: ProgressOf) => this.#send({ kind: "progress", progress: now }) : undefined;
    this.#files = options.files;
    this.#known = new Set(compiledFilesOf(options.files));
    const signs = setInterval(() => this.#send({ kind: "opening" }), SIGN_MILLISECONDS);
    try {
      const wanted = { ...options, device: undefined, gpu: undefined, signal: undefined, onProgress };
      const { hostOf, codeOf } = this.#source;
      const { files } = options;
      const { engine, report } = await openEngine(operation, hostOf(files), codeOf(files), wanted, () => this.#tell());
      this.#engine = engine;
      engine.inTurn = (work) => this.#queue.run(work);
      this.#sendCompiled();
      this.#send({ kind: "opened", id, report, live: engine.live, hasGpu: engine.hasGpu });
    } catch (error) {
      this.#send({ kind: "failed", id, error: errorParts(operation, error), news: [] });
    } finally {
      clearInterval(signs);
    }
  }

  async call({ id, operation, target, method, args }: Extract<Request, { readonly kind: "call" }>): Promise<void> {
    const inside = this.#cachesOfSteps.get(target) ?? [];
    const touched = [target, cacheIn(args), ...inside].filter(
      (object) => object !== undefined && object !== ENGINE,
    ) as number[];
    try {
      const result = await this.#queue.run(() => this.#perform(target, method, args));
      if (method === "release") this.#forget(target);
      this.#sendCompiled();
      const { made, sent } = this.#kept(result);
      if (method === "createStep") this.#cachesOfSteps.set(made!, cachesInside(args));
      const kernelTimes: readonly KernelTime[] | undefined = this.#engine?.kernelTimes;
      const news = this.#news(made === undefined ? touched : [...touched, made]);
      this.#send({ kind: "done", id, result: sent, made, news, kernelTimes, live: this.#live() }, buffersOf(sent));
    } catch (error) {
      this.#send({ kind: "failed", id, error: errorParts(operation, error), news: this.#news(touched) });
    }
  }

  /** Sends the files that this worker has compiled since it last did so: a call may load the late part of the module. */
  #sendCompiled(): void {
    const files = compiledFilesOf(this.#files);
    if (files.length === this.#known.size) return;
    sendCompiled(
      files.filter((file) => !this.#known.has(file)),
      this.#send,
    );
    this.#known = new Set(files);
  }

  /** Tells the client that the report has changed, outside of its requests. */
  #tell(): void {
    const live = this.#engine?.live;
    if (live) this.#send({ kind: "report", live });
  }

  /** The changing part of the report, if calls change it. */
  #live(): LiveReport | undefined {
    const live = this.#engine?.live;
    if (!live) return undefined;
    const isOther = live.productBlock !== this.#sentBlock;
    this.#sentBlock = live.productBlock;
    return isOther || ["waiting", "running", "ready"].includes(live.calibration.state) ? live : undefined;
  }

  /** A method has the same name on both sides. */
  #perform(target: number, method: Method, args: readonly unknown[]): unknown {
    const subject = (target === ENGINE ? this.#engine : this.#objects.get(target)) as unknown as Readonly<
      Record<Method, (...args: readonly unknown[]) => unknown>
    >;
    return subject[method](...args.map((arg) => this.#unpacked(arg, method)));
  }

  /**
   * Adds to a problem what was not sent: results keep the shape [B, H, …], a cache or a saved call is the object in this
   * worker, and graphs of formulas and their derivatives are the objects for which the engine has compiled something.
   */
  #unpacked(arg: unknown, method?: Method): unknown {
    if (typeof arg !== "object" || arg === null || !("operation" in arg)) return arg;
    const { saved, parts } = arg as { readonly saved?: unknown; readonly parts?: readonly SentPart[] };
    const cache = cacheIn([arg]);
    return {
      ...arg,
      ...(method === "createStep" && { parts: parts!.map((part) => this.#unpackedPart(part)) }),
      ...withKnownGraphs(arg as Settled),
      keepRank: (full: readonly number[]) => [...full],
      cache: cache && this.#objects.get(cache),
      ...(typeof saved === "number" && { saved: this.#objects.get(saved) }),
    };
  }

  #forget(object: number): void {
    this.#objects.delete(object);
    this.#cachesOfSteps.delete(object);
  }

  /** A part of a step, with the objects of this worker. */
  #unpackedPart(part: SentPart): unknown {
    const unpacked = { ...part, ...(part.problem && { problem: this.#unpacked(part.problem) }) };
    return part.layer === undefined ? unpacked : { ...unpacked, layer: this.#objects.get(part.layer) };
  }

  /** Keeps the object that a call has made: its result, or what it saved beside other results. */
  #kept(result: unknown): { readonly made: number | undefined; readonly sent: unknown } {
    if (isObject(result)) return { made: this.#keep(result), sent: undefined };
    const { saved } = (result ?? {}) as { readonly saved?: EngineSaved };
    if (!saved) return { made: undefined, sent: result };
    const { saved: _, ...sent } = result as object & { readonly saved: EngineSaved };
    return { made: this.#keep(saved), sent };
  }

  #keep(object: Made): number {
    this.#objects.set(++this.#lastObject, object);
    return this.#lastObject;
  }

  #news(touched: readonly number[]): ObjectNews[] {
    return touched.flatMap((object) => {
      const living = this.#objects.get(object);
      return living ? [{ object, state: stateOf(living) }] : [];
    });
  }
}

type ProgressOf = Extract<Reply, { readonly kind: "progress" }>["progress"];

/** A problem, which may have settings. */
interface Settled {
  readonly settings?: AttentionSettings;
}

/** The settings of a problem, if it has any, with the graphs that this worker knows. */
function withKnownGraphs(problem: Settled): object {
  const { settings } = problem;
  if (!settings) return {};
  const [score, visible] = [knownFormula(settings.score), knownFormula(settings.visible)];
  return {
    settings: { ...settings, score, visible },
    ...(score && "derivatives" in problem && { derivatives: scoreDerivatives(score.graph) }),
  };
}

/** The numbers of the caches in a step. */
function cachesInside([problem]: readonly unknown[]): readonly number[] {
  const { parts } = problem as { readonly parts: readonly SentPart[] };
  return parts.flatMap(({ problem: call }) => (call?.cache === undefined ? [] : [call.cache]));
}

/** The number of the cache in a problem. */
function cacheIn([problem]: readonly unknown[]): number | undefined {
  const { cache } = (problem ?? {}) as { readonly cache?: unknown };
  return typeof cache === "number" ? cache : undefined;
}

function isObject(result: unknown): result is Made {
  return typeof result === "object" && result !== null && "release" in result;
}

function stateOf(object: Made): ObjectState {
  const { bytes } = object;
  if (!("placement" in object)) return { bytes };
  const { placement } = object;
  return "appended" in object
    ? { form: object.form, appended: object.appended, bytes, placement }
    : { bytes, placement };
}
