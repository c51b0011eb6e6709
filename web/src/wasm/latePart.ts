import { realTimeout } from "../base/timers.js";
import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { Patches } from "../attention/patch.js";
import type { Wanted } from "../attention/returns.js";
import type { HeadwiseError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import type { CacheDtype } from "../cache/cacheDtype.js";
import { latePartError } from "../load/assetErrors.js";
import type { LoadLatePart } from "../load/host.js";
import type { Dtype } from "../tensor/tensor.js";
import type { NativeCore, WasmModule } from "./module.js";

/** What a call of attention asks for, with or without a cache or a layer. */
interface Asked {
  readonly settings: AttentionSettings;
  readonly wanted: Wanted;
  readonly patches?: Patches | undefined;
  readonly views?: object;
}

/**
 * Whether a call of attention uses the late part of the module: for formulas, for what lies inside (`patch`, the views of
 * `returns`, and its weights but for probs), and for keys and values that are not float32.
 *
 * @param stored - How keys and values lie; undefined for those that the call computes itself.
 */
export function usesLatePart(
  { settings, wanted, patches, views }: Asked,
  ...stored: readonly (Dtype | CacheDtype | undefined)[]
): boolean {
  return Boolean(
    settings.score ||
    settings.visible ||
    wanted.topK ||
    wanted.entropy ||
    wanted.scores ||
    patches ||
    (views && Object.keys(views).length > 0) ||
    stored.some((dtype) => dtype !== undefined && dtype !== "float32"),
  );
}

/**
 * The late part of a module, which the first call that needs it loads. Tables of functions belong to an instance, so the late
 * part must be linked in this thread and in every worker. A worker whose thread waits for work hears no message. So the
 * threads end, each worker links the late part, and the threads start again. No call runs meanwhile.
 */
export class LatePart {
  readonly #module: WasmModule;
  readonly #native: NativeCore;
  readonly #load: LoadLatePart;
  readonly #stop = new AbortController();
  #end: ((operation: string) => HeadwiseError) | undefined;
  #isLinkedHere = false;
  /** The late part, if it was asked for before a call needed it; undefined if it did not arrive. */
  #expected: Promise<WebAssembly.Module | undefined> | undefined;

  constructor(module: WasmModule, native: NativeCore, load: LoadLatePart) {
    this.#module = module;
    this.#native = native;
    this.#load = load;
  }

  /** Begins to load it. If that fails, the first call that needs it loads it again. */
  expect(operation: string): void {
    this.#expected ??= this.#load(operation, this.#stop.signal).catch(() => undefined);
  }

  /** Loads and links it. After a failure the next call may try again. */
  async link(operation: string): Promise<void> {
    try {
      const late = (await this.#expected) ?? (await this.#load(operation, this.#stop.signal));
      this.#throwIfEnded(operation);
      await this.#linkHere(operation, late);
      this.#throwIfEnded(operation);
      await this.#linkWorkers(operation, late);
    } catch (error) {
      throw this.#end?.(operation) ?? error;
    }
  }

  /** Stops loading, because the engine has ended. */
  end(reason: (operation: string) => HeadwiseError): void {
    this.#end = reason;
    this.#stop.abort();
  }

  #throwIfEnded(operation: string): void {
    if (this.#end) throw this.#end(operation);
  }

  async #linkHere(operation: string, late: WebAssembly.Module): Promise<void> {
    if (this.#isLinkedHere) return;
    try {
      await WebAssembly.instantiate(late, { primary: this.#module.primary });
    } catch (cause) {
      throw latePartError(operation, "the late part", thrownText(cause), cause);
    }
    this.#isLinkedHere = true;
  }

  async #linkWorkers(operation: string, late: WebAssembly.Module): Promise<void> {
    const { PThread } = this.#module;
    if (!PThread || PThread.runningWorkers.length === 0) return;
    this.#native.leave();
    try {
      await this.#until(operation, () => PThread.runningWorkers.length === 0);
      const workers = [...PThread.unusedWorkers];
      let answers = 0;
      let failure: string | undefined;
      this.#module.linkedLatePart = (reason) => {
        answers += 1;
        failure ??= reason;
      };
      for (const worker of workers) worker.postMessage({ cmd: "linkLatePart", module: late });
      await this.#until(operation, () => answers === workers.length);
      if (failure !== undefined)
        throw latePartError(operation, "the late part", `a worker could not link it: ${failure}`);
    } finally {
      this.#module.linkedLatePart = undefined;
      if (!this.#end) this.#native.enter();
    }
  }

  /** Waits with timers: the workers do not keep Node alive. */
  async #until(operation: string, condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise((resolve) => realTimeout(resolve));
      this.#throwIfEnded(operation);
    }
  }
}
