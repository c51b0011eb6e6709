import type { ResultOf } from "../attention/attentionResult.js";
import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { isArray } from "../base/typedArray.js";
import type { KvCache } from "../cache/kvCache.js";
import type { Patch } from "../layer/patch.js";
import { FORWARD_RETURNS, type ForwardReturns, type LayerViewsAt } from "../layer/views.js";
import { throwIfAborted } from "../read/abort.js";
import type { CallArguments } from "../read/callArguments.js";
import { argument, type NumberList, type OptionReader } from "../read/options.js";
import { suggestion } from "../read/suggestion.js";
import type { StepActivation } from "../step/stepProblem.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { MaskLike } from "../tensor/tensor.js";
import { activation } from "../train/activation.js";
import { layerNorm, rmsNorm } from "../train/norm.js";
import type { Arithmetic, Weight } from "./arithmetic.js";
import type { AttentionCall, AttentionPart } from "./attentionPart.js";
import { add, halvesOf, multiply, scaled, softcapped } from "./elementwise.js";
import type { ModelInput } from "./modelInput.js";
import type { Network } from "./network.js";
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
  /** The layers that give it, by name or number, beside `returns`. Default: all. */
  readonly layers?: readonly (string | number)[] | undefined;
  /** For a layer, a factor for each of its heads: as `headGain` of `layer.forward`; 0 removes a head. */
  readonly headGain?: Readonly<Record<string, NumberList | undefined>> | undefined;
  /** For a layer, rows to overwrite: as `patch` of `layer.forward`. */
  readonly patch?: LayerPatches | undefined;
  /** Ends the call before the next layer. */
  readonly signal?: AbortSignal | undefined;
}

/** One way of tokens through a model, in numbers. It calls the attention layers, and keeps what they give. */
export class Pass implements Arithmetic<Floats> {
  readonly add = add;
  readonly multiply = multiply;
  readonly scaled = scaled;
  readonly softcapped = softcapped;
  readonly halves = halvesOf;
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

  /** The last hidden state of these tokens. */
  hidden({ tables, hidden }: Network, input: ModelInput): Promise<Floats> {
    const rows = tables.map(({ table, numbers }) => table.rows(numbers(input, this.start)));
    return hidden(rows, input.shape.at(-1)!, this);
  }

  activation(x: Floats, name: StepActivation): Floats {
    return activation(x, name);
  }

  layerNorm(x: Floats, gain: Floats, bias: Floats | undefined, epsilon: number): Floats {
    return layerNorm(x, gain, bias, { epsilon });
  }

  rmsNorm(x: Floats, gain: Floats, epsilon: number): Floats {
    return rmsNorm(x, gain, { epsilon });
  }

  linear(x: Floats, { hw, tensor, layout, noBias }: Weight, bias = noBias): Promise<Floats> {
    return hw.linear(x, tensor, bias, { weightLayout: layout });
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

  /**
   * Computes an attention layer.
   *
   * @param shared - Options that all layers have in this call.
   */
  async attend({ name, layer, options }: AttentionPart, x: Floats, shared: AttentionCall): Promise<Floats> {
    const { returns, headGain, patch, signal } = this.#options;
    throwIfAborted(signal);
    const cache = this.#caches?.get(name);
    const isWatched = returns !== undefined && this.#watched.has(name);
    const changes = { headGain: headGain?.[name], patch: patch?.[name], cache, signal };
    const result = await layer.forward<ForwardReturns, Floats, Floats, "cpu", false>(x, {
      ...options,
      ...shared,
      ...this.#padding,
      ...(present(changes) as AttentionCall),
      ...(isWatched && { returns: { ...returns, output: true } }),
    });
    if (isWatched) this.results[name] = result;
    return result.output;
  }
}

type Given<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The entries that are not undefined. */
function present<T extends object>(entries: T): Given<T> {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) as Given<T>;
}

/** Reads the options of a pass but `patch`, each value once. The layers check what is inside. */
export function readPassOptions(
  reader: OptionReader,
  names: readonly string[],
  numHeads: number,
): { readonly options: PassOptions; readonly watched: ReadonlySet<string> } {
  const returns = reader.object("returns", FORWARD_RETURNS);
  const options = {
    returns: returns && Object.fromEntries(FORWARD_RETURNS.map((name) => [name, returns.value(name)])),
    headGain: readHeadGain(reader, names, numHeads),
    signal: reader.signal(),
  };
  const watched = watchedLayers(reader, names);
  if (reader.has("layers") && !returns)
    throw reader.refuse("layers", "be absent without returns, which says what they give");
  return { options: present(options), watched };
}

/** The factors of the heads of layers, which all have as many heads. */
function readHeadGain(reader: OptionReader, names: readonly string[], numHeads: number) {
  const given = readByLayer<unknown>(reader.call, "headGain", reader.value("headGain"), names);
  const read = ([name, value]: [string, unknown]) => {
    const option = `headGain[${describe(name)}]`;
    return [name, argument(reader.call, option, value).floats(option, numHeads)];
  };
  return given && (Object.fromEntries(Object.entries(given).map(read)) as Record<string, Float32Array | undefined>);
}

/** The layers that `layers` names, by name or number. */
function watchedLayers(reader: OptionReader, names: readonly string[]): ReadonlySet<string> {
  const layers = reader.value("layers");
  if (layers === undefined) return new Set(names);
  if (!isArray(layers)) throw reader.refuse("layers", "be an array of names or numbers of layers");
  const watched = reader.call.list(
    "layers",
    layers,
    () => undefined,
    (layer, n) => {
      const name = typeof layer === "number" ? names[layer] : layer;
      if (typeof name === "string") return checkName(reader.operation, `layers[${n}]`, name, names);
      throw new OptionError(
        `${reader.at("layers")}[${n}] must be below the ${names.length} layers, got ${describe(layer)}`,
      );
    },
  );
  return new Set(watched);
}

/** @param argument - "patch", or what a function of that name has given. */
export function readPatches(call: CallArguments, argument: string, given: unknown, names: readonly string[]) {
  return readByLayer<Patch>(call, argument, given, names);
}

/** Reads an object whose names are layers of the model. */
function readByLayer<T>(
  call: CallArguments,
  argument: string,
  given: unknown,
  names: readonly string[],
): Readonly<Record<string, T>> | undefined {
  if (given === undefined) return undefined;
  const values = call.record(argument, given, names);
  for (const name of values.keys()) checkName(call.operation, argument, name, names);
  return Object.fromEntries(values) as Record<string, T>;
}

function checkName(operation: string, argument: string, name: string, names: readonly string[]): string {
  if (names.includes(name)) return name;
  throw new OptionError(
    `${operation}: ${argument} must name layers of model.names, such as ${describe(names[0])}, got ${describe(name)}`,
    { hint: suggestion(name, names) },
  );
}
