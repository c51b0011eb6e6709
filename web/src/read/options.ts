import { isCallable, type AnyFunction } from "../base/callable.js";
import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { arrayKind, isAnyArray, isArray } from "../base/typedArray.js";
import { product } from "../tensor/product.js";
import type { BufferTensor, CheckedTensor, Dtype, Tensor } from "../tensor/tensor.js";
import { isSignal } from "./abort.js";
import type { CallArguments } from "./callArguments.js";
import { otherName, type OtherName } from "./otherNames.js";
import { snapshot } from "./snapshot.js";
import { suggestion } from "./suggestion.js";
import type { Watched } from "./watched.js";

/** A typed array that lists numbers. A Uint16Array is none: its numbers may be the bits of float16. */
type NumberArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** A short list of numbers: an array, a typed array or a tensor of rank 1. */
export type NumberList = readonly number[] | NumberArray | Tensor<"float32" | "int32">;

/** The most numbers in a list whose length no other argument tells, such as the heads of a slice. */
export const MOST_NUMBERS = 2 ** 20;

interface IntegerRule {
  readonly min?: number;
  readonly max?: number;
}

interface FloatRule {
  /** Also allow −∞. Other values must be finite. */
  readonly minusInfinity?: boolean;
}

/** C++ holds integer options in 32 bits. */
const MIN_INTEGER = -(2 ** 31);
const MAX_INTEGER = 2 ** 31 - 1;

/** The word for a value in messages. */
export type Noun = "option" | "input" | "attribute";

/** The names of an interface's properties. The compiler checks that the list is complete and has no other name. */
export function namesOf<T>(names: Readonly<Record<keyof T, true>>): readonly (keyof T & string)[] {
  return Object.keys(names) as (keyof T & string)[];
}

/**
 * Reads an object of options. All its values are read now, each once.
 *
 * @param given - The caller's object; undefined counts as an empty object.
 * @param names - All names that the object may have.
 * @param path - Where the object is: "" for the options themselves, "returns" for `options.returns`.
 * @param noun - The word for a value in messages.
 * @param others - The names that other packages have for these options. Default: those for attention, or for `returns`.
 * @throws OptionError if the object has an unknown name.
 */
export function readOptions(
  call: CallArguments,
  given: unknown,
  names: readonly string[],
  path = "",
  noun?: Noun,
  others?: readonly OtherName[],
): OptionReader {
  return new OptionReader(call, path, names, call.record(path || "options", given, names), noun, others);
}

/** Reads an argument like an option of that name. */
export function argument(call: CallArguments, name: string, value: unknown): OptionReader {
  return new OptionReader(call, "", [name], new Map([[name, value]]));
}

/**
 * An object of options whose values have been read. Each method checks one value.
 *
 * All names are checked before any value is used. So a misspelt option is refused and never ignored. An option whose
 * value is undefined counts as absent.
 */
export class OptionReader {
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #tensors = new Map<string, CheckedTensor>();

  constructor(
    readonly call: CallArguments,
    readonly path: string,
    names: readonly string[],
    values: ReadonlyMap<string, unknown>,
    readonly noun: Noun = "option",
    readonly others?: readonly OtherName[],
  ) {
    for (const name of values.keys()) if (!names.includes(name)) throw this.#unknown(name, names);
    this.#values = values;
  }

  /** The name of the public function. It is the first word of every message. */
  get operation(): string {
    return this.call.operation;
  }

  has(name: string): boolean {
    return this.#values.get(name) !== undefined;
  }

  /** The value as it was given, for options that may have several types. */
  value(name: string): unknown {
    return this.#values.get(name);
  }

  /** The same options, with what lies inside of them as it is now. */
  kept(): OptionReader {
    const values = new Map(this.#given().map(([name, value]) => [name, snapshot(value)]));
    return new OptionReader(this.call, this.path, [...values.keys()], values, this.noun, this.others);
  }

  /** The same options, with fewer legal names. */
  narrowed(names: readonly string[]): OptionReader {
    return new OptionReader(this.call, this.path, names, new Map(this.#given()), this.noun, this.others);
  }

  /** The same options, with defaults for absent ones. */
  withDefaults(defaults: Readonly<Record<string, unknown>>): OptionReader {
    const values = new Map([...Object.entries(defaults), ...this.#given()]);
    return new OptionReader(this.call, this.path, [...values.keys()], values, this.noun);
  }

  /** The full name of an option: `returns.topK.k`. */
  name(name: string): string {
    return this.path ? `${this.path}.${name}` : name;
  }

  /** The first words of a message about an option: `scaledDotProductAttention: returns.topK.k`. */
  at(name: string): string {
    return `${this.operation}: ${this.name(name)}`;
  }

  /** An OptionError in the usual form: `operation: name must rule, got value`. */
  refuse(name: string, rule: string, hint?: string): OptionError {
    return new OptionError(`${this.at(name)} must ${rule}, got ${describe(this.#values.get(name))}`, { hint });
  }

  /** An OptionError for an absent option that has no default. */
  missing(name: string, rule: string): OptionError {
    return new OptionError(`${this.at(name)} must be given: ${rule}`);
  }

  flag(name: string, absent: boolean): boolean {
    const value = this.#values.get(name);
    if (value === undefined) return absent;
    if (typeof value !== "boolean") throw this.refuse(name, "be true or false");
    return value;
  }

  oneOf<V extends string>(name: string, values: readonly V[], absent: V): V {
    const value = this.#values.get(name) === undefined ? absent : this.#values.get(name);
    if (!(values as readonly unknown[]).includes(value))
      throw this.refuse(name, `be ${alternatives(values)}`, suggestion(value, values));
    return value as V;
  }

  /** A finite number. */
  number(name: string): number | undefined {
    const value = this.#values.get(name);
    if (value === undefined) return undefined;
    if (!isFinite32(value)) throw this.refuse(name, "be a finite number");
    return value;
  }

  integer(name: string, rule: IntegerRule = {}): number | undefined {
    const value = this.#values.get(name);
    if (value === undefined) return undefined;
    if (!isInteger(value, rule)) throw this.refuse(name, `be ${integerRule(rule, value)}`);
    return value;
  }

  requiredInteger(name: string, rule: IntegerRule = {}): number {
    const value = this.integer(name, rule);
    if (value === undefined) throw this.missing(name, integerRule(rule));
    return value;
  }

  /** A list of integers. If `length` is given, the list must have it. */
  integers(name: string, rule: IntegerRule = {}, length?: number): Int32Array | undefined {
    const ruleOf = (value: unknown) => integerRule(rule, value);
    const list = this.#list(name, length, ruleOf, (value) => isInteger(value, rule));
    return list && Int32Array.from(list);
  }

  /** A list of finite numbers. If `length` is given, the list must have it. */
  floats(name: string, length?: number, { minusInfinity = false }: FloatRule = {}): Float32Array | undefined {
    const list = this.#list(
      name,
      length,
      () => (minusInfinity ? "finite or -Infinity" : "finite"),
      (value) => isFinite32(value) || (minusInfinity && value === -Infinity),
    );
    return list && Float32Array.from(list);
  }

  /** A list of finite numbers with all their digits. */
  doubles(name: string, length: number): Float64Array | undefined {
    const value = this.value(name);
    const isDoubles = arrayKind(value) === "Float64Array";
    const list = this.#list(name, length, () => "finite", isFinite32, isDoubles ? (value as object) : undefined);
    return list && Float64Array.from(list);
  }

  /** @param shape - The expected shape, if it is known. Then bare data without a shape is accepted too. */
  tensor<D extends Dtype>(name: string, dtypes: readonly D[], shape?: readonly number[]): CheckedTensor<D> | undefined {
    if (!this.has(name)) return undefined;
    const value = this.value(name);
    const given = shape && arrayKind(value) ? { data: value, shape } : value;
    const tensor = (this.#tensors.get(name) ?? this.call.tensor(this.name(name), given, dtypes)) as CheckedTensor<D>;
    this.#tensors.set(name, tensor as CheckedTensor);
    const isBareList = shape && isArray(value) && tensor.shape.length === 1 && tensor.shape[0] === product(shape);
    return isBareList ? { ...tensor, shape } : tensor;
  }

  /** A tensor that may lie on the GPU. */
  placed<D extends Dtype>(name: string, dtypes: readonly D[]): CheckedTensor<D> | BufferTensor<D> | undefined {
    return this.has(name) ? this.call.placed(this.name(name), this.value(name), dtypes) : undefined;
  }

  /** An option that is an object of options itself. */
  object(name: string, names: readonly string[], others?: readonly OtherName[]): OptionReader | undefined {
    const value = this.#values.get(name);
    return value === undefined ? undefined : readOptions(this.call, value, names, this.name(name), "option", others);
  }

  signal(): AbortSignal | undefined {
    const signal = this.value("signal");
    if (signal === undefined) return undefined;
    if (!this.call.guarded(this.name("signal"), () => isSignal(signal)))
      throw this.refuse("signal", "be an AbortSignal");
    return signal as AbortSignal;
  }

  /** A function that is told how far the call has come. */
  watched(): Watched {
    return { signal: this.signal(), onProgress: this.callback("onProgress") as Watched["onProgress"] };
  }

  /** A function to call. A class is none: it cannot be called. */
  callback(name: string): AnyFunction | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!isCallable(value)) throw this.refuse(name, "be a function");
    return value;
  }

  #given(): [string, unknown][] {
    return [...this.#values].filter(([, value]) => value !== undefined);
  }

  #list(
    name: string,
    length: number | undefined,
    rule: (value: unknown) => string,
    isLegal: (value: unknown) => boolean,
    read?: object,
  ): number[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const list = read ?? (isList(value) ? value : this.#tensorList(name, value));
    const checkLength = (given: number) => {
      if (length !== undefined && given !== length)
        throw new ShapeError(`${this.at(name)} must have length ${length}, got ${given}`);
      if (length === undefined && given > MOST_NUMBERS)
        throw new ShapeError(`${this.at(name)} must have at most ${MOST_NUMBERS} entries, got ${given}`);
    };
    return this.call.list(this.name(name), list, checkLength, (element, n) => {
      const number = typeof element === "bigint" ? Number(element) : element;
      if (isLegal(number)) return number as number;
      throw new OptionError(`${this.at(name)}[${n}] must be ${rule(number)}, got ${describe(element)}`);
    });
  }

  #tensorList(name: string, value: unknown): Float32Array | Int32Array {
    if (!isObject(value) || arrayKind(value)) throw this.refuse(name, "be a list of numbers");
    const { data, shape } = this.call.tensor(this.name(name), value, ["float32", "int32"]);
    if (shape.length !== 1) throw new ShapeError(`${this.at(name)} must have rank 1, got shape ${describe(shape)}`);
    return data;
  }

  #unknown(name: string, names: readonly string[]): OptionError {
    const nearest = otherName(this.path, name, names, this.others) ?? suggestion(name, names);
    const place = this.path && this.noun === "option" ? ` in ${this.path}` : "";
    return new OptionError(
      `${this.operation}: unknown ${this.noun} ${describe(name)}${place}${nearest ? `; ${nearest}` : ""}`,
      { hint: `Known ${this.noun}s: ${names.join(", ")}.` },
    );
  }
}

/** Whether a value is a list of numbers and not a tensor: an array, or a NumberArray. */
export function isList(value: unknown): value is object {
  return isAnyArray(value) && arrayKind(value) !== "Uint16Array";
}

/** Whether a value is a number that is finite in float32. A larger one would reach the engine as an infinity. */
function isFinite32(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(Math.fround(value));
}

function isInteger(value: unknown, { min = MIN_INTEGER, max = MAX_INTEGER }: IntegerRule): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

/**
 * What may be given for an integer, in words.
 *
 * @param given - What was given: an integer beyond 32 bits is told the bounds.
 */
export function integerRule({ min, max }: IntegerRule, given?: unknown): string {
  const isBeyond = Number.isInteger(given) && !isInteger(given, {});
  if ((min !== undefined && max !== undefined) || isBeyond)
    return `an integer from ${min ?? MIN_INTEGER} to ${max ?? MAX_INTEGER}`;
  return min === undefined ? "an integer" : `an integer of at least ${min}`;
}

/** What may be given for one of some words, in words. */
export function alternatives(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(" or ");
}
