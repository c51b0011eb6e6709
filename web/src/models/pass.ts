import type { ResultOf } from "../attention/attentionResult.js";
import type { KvCache } from "../cache/kvCache.js";
import { throwIfAborted } from "../call/abort.js";
import type { NumberList } from "../call/options.js";
import { suggestion } from "../call/suggestion.js";
import { OptionError } from "../errors/errors.js";
import { describe, isObject } from "../foreign/describe.js";
import type { Patch } from "../layer/patch.js";
import type { ForwardReturns, LayerViewsAt } from "../layer/views.js";
import type { MaskLike } from "../tensor/tensor.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { AttentionCall, AttentionPart } from "./parts.js";
import type { TokenBatch } from "./tokens.js";

/** What an attention layer gives: its `output`, and what `returns` asked for. */
export type LayerResult<R extends ForwardReturns | undefined = ForwardReturns | undefined> = ResultOf<R> &
  LayerViewsAt<"cpu", R>;

/** For layers, by their names, rows to overwrite. */
export type LayerPatches = Readonly<Record<string, Patch | undefined>>;

/** What a caller wants to see of attention layers, and to change in them. Layers go by the names in `model.names`. */
export interface PassOptions<R extends ForwardReturns | undefined = ForwardReturns | undefined> {
  /** What the layers give: as `returns` of `layer.forward`, such as `{ probs: true }`. Default: nothing. */
  readonly returns?: R;
  /** The layers that give it, by name or number. Default: all. */
  readonly layers?: readonly (string | number)[] | undefined;
  /** For a layer, a factor for each of its heads: as `headGain` of `layer.forward`; 0 removes a head. */
  readonly headGain?: Readonly<Record<string, NumberList | undefined>> | undefined;
  /** For a layer, rows to overwrite: as `patch` of `layer.forward`. */
  readonly patch?: LayerPatches | undefined;
  /** Ends the call before the next layer. */
  readonly signal?: AbortSignal | undefined;
}

/** One way of tokens through a model. It calls the attention layers, and keeps what they give. */
export class Pass {
  /** What `returns` asked for, by the names of layers. */
  readonly results: Record<string, LayerResult> = {};
  /** What went into each block, and what came out of the last one. */
  readonly hiddenStates: Floats[] = [];
  readonly #options: PassOptions;
  readonly #watched: ReadonlySet<string>;
  readonly #padding: AttentionCall;
  readonly #caches: ReadonlyMap<string, KvCache> | undefined;

  /**
   * @param watched - The layers that give what `returns` asks for.
   * @param mask - Which tokens may be seen, for a pass without caches.
   */
  constructor(
    options: PassOptions,
    watched: ReadonlySet<string>,
    { lengths }: TokenBatch,
    mask: MaskLike | undefined,
    caches?: ReadonlyMap<string, KvCache>,
  ) {
    this.#options = options;
    this.#watched = watched;
    this.#caches = caches;
    // with a cache the layer knows the positions; without one they begin at 0, also in texts that are filled up
    this.#padding = caches ? {} : { queryOffset: 0, ...(lengths && { keyLengths: lengths }), ...(mask && { mask }) };
  }

  /** The position of the first token. */
  get start(): number {
    const [first] = this.#caches?.values() ?? [];
    return first?.appended[0] ?? 0;
  }

  /** Keeps a hidden state. */
  note(x: Floats): Floats {
    this.hiddenStates.push(x);
    return x;
  }

  /** Computes an attention layer. */
  async attend({ name, layer, options }: AttentionPart, x: Floats): Promise<Floats> {
    const { returns, headGain, patch, signal } = this.#options;
    throwIfAborted(signal);
    const cache = this.#caches?.get(name);
    const isWatched = returns !== undefined && this.#watched.has(name);
    const changes = { headGain: headGain?.[name], patch: patch?.[name], cache, signal };
    const result = await layer.forward<ForwardReturns, Floats, Floats, "cpu", false>(x, {
      ...options,
      ...this.#padding,
      ...(present(changes) as AttentionCall),
      ...(isWatched && { returns: { ...returns, output: true } }),
    });
    if (isWatched) this.results[name] = result;
    return result.output;
  }
}

/** The entries that are not undefined. */
function present(entries: object): object {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

/** Checks the names of layers in options, and gives the names of those in `layers`. */
export function watchedLayers(
  operation: string,
  { layers, headGain, patch }: PassOptions,
  names: readonly string[],
): ReadonlySet<string> {
  checkLayerNames(operation, "headGain", headGain, names);
  checkLayerNames(operation, "patch", patch, names);
  return new Set(
    (layers ?? names).map((layer, n) => {
      const name = typeof layer === "number" ? names[layer] : layer;
      if (name !== undefined) checkName(operation, `layers[${n}]`, name, names);
      else
        throw new OptionError(
          `${operation}: layers[${n}] must be below the ${names.length} layers, got ${describe(layer)}`,
        );
      return name;
    }),
  );
}

/** Checks that an option by layers is an object, and names layers of the model. */
export function checkLayerNames(operation: string, argument: string, keyed: unknown, names: readonly string[]): void {
  const given = isObject(keyed) ? Object.keys(keyed) : [describe(keyed)];
  for (const name of keyed === undefined ? [] : given) checkName(operation, argument, name, names);
}

function checkName(operation: string, argument: string, name: string, names: readonly string[]): void {
  if (names.includes(name)) return;
  throw new OptionError(
    `${operation}: ${argument} must name layers of model.names, such as ${describe(names[0])}, got ${describe(name)}`,
    { hint: suggestion(name, names) },
  );
}
