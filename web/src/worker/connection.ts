import { AssetError, DisposedError, HeadwiseError, OutOfMemoryError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import type { KernelTime, LiveReport, Report } from "../engine/report.js";
import { version } from "../engine/version.js";
import { versionError } from "../load/assetErrors.js";
import { compiledFilesOf, keepCompiledFile } from "../load/compiledFiles.js";
import type { LoadProgress } from "../load/host.js";
import { PATIENCE_MILLISECONDS, timeOut } from "../load/inTime.js";
import type { Channel, Spawn, StartFailure } from "./channel.js";
import { errorOf } from "./errorParts.js";
import { ENGINE, type EngineOptions, type Method, type ObjectState, type Reply, type Request } from "./protocol.js";
import { sendCompiled } from "./sendCompiled.js";
import { Shipment } from "./shipment.js";
import { notStarted } from "./startFailure.js";

/** The reply to a call that succeeded. */
export type Done = Extract<Reply, { readonly kind: "done" }>;
type Opened = Extract<Reply, { readonly kind: "opened" }>;

interface Pending {
  readonly operation: string;
  readonly resolve: (reply: Done | Opened) => void;
  readonly reject: (error: unknown) => void;
}

/** The latest known state of an object in the worker. */
export interface Known {
  state: ObjectState;
}

/**
 * Makes the error of every call on a worker that has ended: our own error, or what the caller's progress listener
 * threw.
 */
type Ending = (operation: string) => unknown;

/** The channel if no worker could be made. */
const NO_CHANNEL: Channel = { post: () => undefined, keepAlive: () => undefined, terminate: () => undefined };

/** One worker, from its start to its end. */
export class Connection {
  readonly #channel: Channel;
  readonly #pending = new Map<number, Pending>();
  readonly #objects = new Map<number, Known>();
  readonly #onProgress: ((progress: LoadProgress) => void) | undefined;
  #lastId = 0;
  #ready = false;
  #opened = false;
  #stopped = false;
  #signTimer: ReturnType<typeof setTimeout> | undefined;
  #end: Ending | undefined;
  /** Kernel times of the latest call. */
  kernelTimes: readonly KernelTime[] = [];
  /** Whether the engine has a GPU to open, once it is open. */
  hasGpu: boolean | undefined;
  /** The changing part of the report, as far as is known here. */
  live: LiveReport | undefined;

  constructor(spawn: Spawn, onProgress: ((progress: LoadProgress) => void) | undefined) {
    this.#onProgress = onProgress;
    this.#channel = this.#spawned(spawn);
    this.#channel.keepAlive(false);
  }

  #spawned(spawn: Spawn): Channel {
    try {
      return spawn({
        reply: (reply) => this.#receive(reply),
        unstarted: (failure) => void this.#unstarted(failure),
        lost: (reason) => this.#lost(reason),
      });
    } catch (reason) {
      this.#end = (operation) => startError(operation, notStarted(reason));
      return NO_CHANNEL;
    }
  }

  /** No more sign comes: what has failed is known, and why will be. */
  async #unstarted(failing: Promise<StartFailure>): Promise<void> {
    clearTimeout(this.#signTimer);
    const failure = await failing.catch(notStarted);
    this.end((operation) => startError(operation, failure));
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Whether the engine in the worker is open, as far as is known here. */
  get isOpen(): boolean {
    return this.#opened && !this.ended;
  }

  /** Whether the worker has stopped while it opened the engine. Another worker may not. */
  get hasStopped(): boolean {
    return this.#stopped;
  }

  /** Throws the error for calls on a worker that has ended, if it has ended. */
  assertAlive(operation: string): void {
    if (this.#end) throw this.#end(operation);
  }

  /** Starts the engine in the worker. If that fails, this ends the worker. */
  async open(operation: string, options: EngineOptions): Promise<Report> {
    this.#awaitSign();
    const progress = this.#onProgress !== undefined;
    try {
      sendCompiled(compiledFilesOf(options.files), (message) => this.#channel.post(message, []));
      const opened = await this.#ask(operation, (id) => ({ kind: "open", id, operation, options, progress }), []);
      const { report, hasGpu } = opened as Opened;
      this.#opened = true;
      this.hasGpu = hasGpu;
      return report;
    } catch (error) {
      this.end((later) => lostError(later, error));
      throw error;
    } finally {
      clearTimeout(this.#signTimer);
      this.#signTimer = undefined;
    }
  }

  /** Calls a method of the engine, or of one of its objects. */
  async call(operation: string, target: number, method: Method, ...args: readonly unknown[]): Promise<Done> {
    const shipment = new Shipment(operation);
    const packed = packedBy(shipment, operation, args);
    const request = (id: number): Request => ({ kind: "call", id, operation, target, method, args: packed });
    const done = (await this.#ask(operation, request, shipment.transfer)) as Done;
    if (target === ENGINE && done.kernelTimes) this.kernelTimes = done.kernelTimes;
    return done;
  }

  /** The known state of an object in the worker. Every call that changes the object updates it. */
  known(object: number): Known {
    return this.#objects.get(object)!;
  }

  /** Releases an object in the worker. Callers that hold its known state keep it. */
  async release(object: number): Promise<void> {
    this.#objects.delete(object);
    if (this.#end) return;
    try {
      await this.call("dispose", object, "release");
    } catch (error) {
      if (!this.#end) throw error; // with the worker its objects are gone
    }
  }

  /** Ends the worker. Pending and later calls fail with the error that `ending` makes. */
  end(ending: Ending): void {
    if (this.#end) return;
    this.#end = ending;
    this.#channel.terminate();
    for (const { operation, reject } of this.#pending.values()) reject(ending(operation));
    this.#pending.clear();
  }

  #ask(operation: string, request: (id: number) => Request, transfer: readonly ArrayBuffer[]): Promise<Done | Opened> {
    return new Promise((resolve, reject) => {
      this.assertAlive(operation);
      const id = ++this.#lastId;
      this.#channel.post(request(id), transfer);
      this.#pending.set(id, { operation, resolve, reject });
      this.#channel.keepAlive(true);
    });
  }

  #receive(reply: Reply): void {
    if (this.#end) return;
    if (reply.kind === "ready") this.#ready = true;
    if (this.#signTimer !== undefined) this.#awaitSign();
    switch (reply.kind) {
      case "opening":
        return;
      case "compiled":
        reply.files.forEach(keepCompiledFile);
        return;
      case "ready":
        if (reply.version !== version)
          this.end((operation) => versionError("the script of the engine's worker", reply.version, operation));
        return;
      case "progress":
        this.#report(reply.progress);
        return;
      case "report":
        this.live = reply.live;
        return;
      case "opened":
        this.live = reply.live;
        this.#settle(reply.id)?.resolve(reply);
        return;
      case "done":
        this.#learn(reply.news);
        this.live = reply.live ?? this.live;
        this.#settle(reply.id)?.resolve(reply);
        return;
      case "failed": {
        this.#learn(reply.news);
        const error = errorOf(reply.error);
        this.#settle(reply.id)?.reject(error);
        if (error.code === "INTERNAL") this.end((operation) => lostError(operation, error));
      }
    }
  }

  /** If the progress listener throws, loading ends, as it does without a worker. */
  #report(progress: LoadProgress): void {
    try {
      this.#onProgress?.(progress);
    } catch (error) {
      this.end(() => error);
    }
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#channel.keepAlive(false);
    return pending;
  }

  #learn(news: Done["news"]): void {
    for (const { object, state } of news) {
      const known = this.#objects.get(object);
      if (known) known.state = state;
      else this.#objects.set(object, { state });
    }
  }

  #lost(reason: unknown): void {
    this.end((operation) => (this.#ready ? lostError(operation, reason) : startError(operation, notStarted(reason))));
  }

  /**
   * While the engine opens: waits anew for the next message of the worker. A worker that runs gives a sign every second. In
   * Firefox 153 `new Worker` sometimes never returns in a worker, and then the worker cannot even report it.
   */
  #awaitSign(): void {
    clearTimeout(this.#signTimer);
    this.#signTimer = setTimeout(() => this.#late(), PATIENCE_MILLISECONDS);
  }

  #late(): void {
    this.#stopped = this.#ready;
    const [failed, hint] = this.#ready ? STOPPED : NOT_STARTED;
    this.end((operation) => timeOut(operation, failed, hint));
  }
}

const NOT_STARTED = ["the engine's worker did not start", "Check the page's worker-src policy."] as const;
const STOPPED = [
  "the engine's worker stopped while it opened the engine: no sign of it",
  "Try again, or set `threads: 1`: the engine's worker then starts no workers of its own.",
] as const;

function packedBy(shipment: Shipment, operation: string, args: readonly unknown[]): unknown[] {
  try {
    return shipment.pack(args) as unknown[];
  } catch (cause) {
    if (HeadwiseError.is(cause)) throw cause;
    throw new OutOfMemoryError(`${operation}: copies of the inputs do not fit the memory of JavaScript`, {
      cause,
      hint: "Arrays in shared memory are not copied: `allocate` makes some where memory may be shared.",
    });
  }
}

function lostError(operation: string, reason: unknown): HeadwiseError {
  return new DisposedError(`${operation}: the engine's worker ended: ${thrownText(reason)}`, {
    code: "WORKER_LOST",
    cause: reason,
    hint: "The next call starts a new worker. Caches and layers that lived in the old one are gone: make them anew.",
  });
}

function startError(operation: string, { reason, code, hint, cause }: StartFailure): AssetError {
  return new AssetError(`${operation}: the engine's worker did not start: ${reason}`, { code, hint, cause });
}
