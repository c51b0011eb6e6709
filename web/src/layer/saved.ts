import { describe } from "../base/describe.js";
import { DisposedError, OptionError } from "../base/errors.js";
import { Disposing } from "../turn/disposable.js";
import type { EngineSaved } from "./engineSaved.js";
import type { ForwardProblem } from "./forwardProblem.js";
import type { Updates } from "./updates.js";

/** What `layer.backward` checks its arguments with. */
export interface SavedForm {
  readonly output: readonly number[];
  readonly lse: readonly number[];
  readonly dInput: readonly number[];
  /** undefined if the call had no such context. */
  readonly dContext: readonly number[] | undefined;
  readonly dValueContext: readonly number[] | undefined;
  /** The options of the call that gradients belong to. */
  readonly has: Readonly<Record<"key" | "value" | "bias" | "sinks" | "alibiSlopes" | "score", boolean>>;
}

/** @internal */
export function savedForm({ x, key, value, shape, output, settings, keepRank }: ForwardProblem): SavedForm {
  return {
    output: output.shape,
    lse: keepRank([shape.batchSize, shape.numHeads, shape.queryLength]),
    dInput: x.shape,
    dContext: key?.shape,
    dValueContext: value?.shape,
    has: {
      key: key !== undefined,
      value: value !== undefined,
      bias: settings.bias !== undefined,
      sinks: settings.sinks !== undefined,
      alibiSlopes: settings.alibiSlopes !== undefined,
      score: settings.score !== undefined,
    },
  };
}

/** Gives back what the engine kept for a Saved that was dropped without `dispose()`. */
const dropped =
  typeof FinalizationRegistry === "function"
    ? /* @__PURE__ */ new FinalizationRegistry<() => void>((release) => release())
    : undefined;

/** The layer that a Saved belongs to, as its updates. */
export type SavedOwner = Pick<Updates, "latest">;

/**
 * What `layer.forward` with `save: true` kept in the engine for the gradient: copies of its inputs, projected queries,
 * keys and values, and statistics. `layer.backward` reads it, and releases it unless `keep` is true.
 *
 * It lives at most as long as its layer.
 */
export class Saved extends Disposing {
  readonly #owner: SavedOwner;
  readonly #version: number;
  readonly #saved: EngineSaved;
  readonly #form: SavedForm;
  readonly #release: () => void;
  /** Why it cannot be used any more. */
  #ended: "was disposed" | "was used by an earlier call" | undefined;

  /**
   * @internal
   * @param version - Of the weights that the call used.
   * @param release - Releases `saved` once.
   */
  constructor(owner: SavedOwner, version: number, saved: EngineSaved, form: SavedForm, release: () => void) {
    super();
    this.#owner = owner;
    this.#version = version;
    this.#saved = saved;
    this.#form = form;
    this.#release = release;
    dropped?.register(this, release, this);
  }

  /** Bytes that it holds in the engine. */
  get bytes(): number {
    return this.#ended ? 0 : this.#saved.bytes;
  }

  /** Gives its memory back after the calls made so far have run. A second `dispose()` does nothing. */
  override dispose(): void {
    if (this.#ended === "was disposed") return;
    const isTaken = this.#ended !== undefined; // the call that has it releases it, also if it fails
    this.#end("was disposed");
    if (!isTaken) this.#release();
  }

  #end(why: "was disposed" | "was used by an earlier call"): void {
    this.#ended = why;
    dropped?.unregister(this);
  }

  /** @internal Checks that `value` is a Saved of this layer that can be used. */
  static in(owner: SavedOwner, operation: string, value: unknown): Savings {
    if (typeof value !== "object" || value === null || !(#saved in value))
      throw new OptionError(
        `${operation}: saved must be what layer.forward returned with save: true, got ${describe(value)}`,
        { hint: "const { output, saved } = await layer.forward(x, { save: true })" },
      );
    const saved = value;
    if (saved.#owner !== owner) throw new OptionError(`${operation}: saved must come from a call of this layer`);
    if (saved.#ended)
      throw new DisposedError(
        `${operation}: saved ${saved.#ended}`,
        saved.#ended === "was disposed" ? {} : { hint: "To use it again, give keep: true." },
      );
    if (owner.latest > saved.#version)
      throw new OptionError(`${operation}: saved must be newer than the weights, but layer.update came after it`, {
        hint: "Call forward again.",
      });
    return {
      saved: saved.#saved,
      form: saved.#form,
      take: () => saved.#end("was used by an earlier call"),
      giveBack: () => {
        if (saved.#ended === "was disposed") return saved.#release();
        saved.#ended = undefined;
        dropped?.register(saved, saved.#release, saved);
      },
      release: saved.#release,
    };
  }
}

/** What a call of backward does with a Saved. */
export interface Savings {
  readonly saved: EngineSaved;
  readonly form: SavedForm;
  /** No later call can use it. */
  take(): void;
  /** The call has failed: a later one can use it. */
  giveBack(): void;
  release(): void;
}
