import { arrayKind, describe, isObject } from "./describe.js";
import { OptionError, ShapeError } from "./errors.js";
import { otherName } from "./otherNames.js";
import { checkTensor, type CheckedTensor, type Dtype, type Tensor } from "./tensor.js";

/** A short list of numbers: an array, a typed array or a tensor of rank 1. */
export type NumberList = readonly number[] | Float32Array | Int32Array | Tensor<"float32" | "int32">;

interface IntegerRule {
  readonly min?: number;
  readonly max?: number;
}

interface FloatRule {
  /** Allow −∞ as well as finite values. */
  readonly minusInfinity?: boolean;
}

/** C++ holds the integers of options in 32 bits. */
const MIN_INTEGER = -(2 ** 31);
const MAX_INTEGER = 2 ** 31 - 1;

/**
 * Reads one object of options and checks it as it goes. Every name is known before any value is read, so that a
 * misspelt option is refused and never silently ignored. An option that is undefined counts as absent.
 */
export class OptionReader {
  readonly #values: Readonly<Record<string, unknown>>;

  /**
   * @param operation - The public function, first word of every message.
   * @param path - Where the object stands: "" for the options themselves, "returns" for `options.returns`.
   * @param names - All names that the object may have.
   * @param onGpu - Whether its tensors may lie on the GPU.
   */
  constructor(
    readonly operation: string,
    readonly path: string,
    options: unknown,
    names: readonly string[],
    readonly onGpu = false,
  ) {
    if (options === undefined) options = {};
    if (!isObject(options) || Array.isArray(options) || arrayKind(options))
      throw new OptionError(`${operation}: ${path || "options"} must be an object, got ${describe(options)}`);
    for (const name of Object.keys(options)) if (!names.includes(name)) throw this.#unknown(name, names);
    this.#values = options as Record<string, unknown>;
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  /** The raw value, for options that take several forms. */
  value(name: string): unknown {
    return this.#values[name];
  }

  /** The option's full name: `returns.topK.k`. */
  name(name: string): string {
    return this.path ? `${this.path}.${name}` : name;
  }

  /** What messages on the option begin with: `scaledDotProductAttention: returns.topK.k`. */
  at(name: string): string {
    return `${this.operation}: ${this.name(name)}`;
  }

  /** An OptionError in the house form: `operation: name must rule, got value`. */
  refuse(name: string, rule: string, hint?: string): OptionError {
    return new OptionError(`${this.at(name)} must ${rule}, got ${describe(this.#values[name])}`, { hint });
  }

  /** An OptionError for an option that has no default. */
  missing(name: string, rule: string): OptionError {
    return new OptionError(`${this.at(name)} must be given: ${rule}`);
  }

  flag(name: string, absent: boolean): boolean {
    const value = this.#values[name] ?? absent;
    if (typeof value !== "boolean") throw this.refuse(name, "be true or false");
    return value;
  }

  oneOf<V extends string>(name: string, values: readonly V[], absent: V): V {
    const value = this.#values[name] === undefined ? absent : this.#values[name];
    if (!(values as readonly unknown[]).includes(value))
      throw this.refuse(name, `be ${alternatives(values)}`, suggestion(value, values));
    return value as V;
  }

  /** A finite number. */
  number(name: string): number | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    if (!isFinite32(value)) throw this.refuse(name, "be a finite number");
    return value;
  }

  integer(name: string, rule: IntegerRule = {}): number | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    if (!isInteger(value, rule)) throw this.refuse(name, `be ${integerRule(rule)}`);
    return value;
  }

  requiredInteger(name: string, rule: IntegerRule = {}): number {
    const value = this.integer(name, rule);
    if (value === undefined) throw this.missing(name, integerRule(rule));
    return value;
  }

  /** A list of integers, of `length` if that is given. */
  integers(name: string, rule: IntegerRule = {}, length?: number): Int32Array | undefined {
    const list = this.#list(name, length, integerRule(rule), (value) => isInteger(value, rule));
    return list && Int32Array.from(list);
  }

  /** A list of finite numbers, of `length` if that is given. */
  floats(name: string, length?: number, { minusInfinity = false }: FloatRule = {}): Float32Array | undefined {
    const list = this.#list(
      name,
      length,
      minusInfinity ? "finite or -Infinity" : "finite",
      (value) => isFinite32(value) || (minusInfinity && value === -Infinity),
    );
    return list && Float32Array.from(list);
  }

  tensor<D extends Dtype>(name: string, dtypes: readonly D[]): CheckedTensor<D> | undefined {
    const value = this.#values[name];
    return value === undefined ? undefined : checkTensor(this.operation, this.name(name), value, dtypes, this.onGpu);
  }

  /** The options one level down. */
  object(name: string, names: readonly string[]): OptionReader | undefined {
    const value = this.#values[name];
    return value === undefined ? undefined : new OptionReader(this.operation, this.name(name), value, names);
  }

  signal(): AbortSignal | undefined {
    const { signal } = this.#values;
    if (signal === undefined) return undefined;
    if (!isObject(signal) || !("aborted" in signal && "addEventListener" in signal))
      throw this.refuse("signal", "be an AbortSignal");
    return signal as AbortSignal;
  }

  #list(
    name: string,
    length: number | undefined,
    rule: string,
    isLegal: (value: unknown) => boolean,
  ): ArrayLike<number> | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    const list = isList(value) ? value : this.#tensorList(name, value);
    if (length !== undefined && list.length !== length)
      throw new ShapeError(`${this.at(name)} must have length ${length}, got ${list.length}`);
    for (let n = 0; n < list.length; ++n)
      if (!isLegal(list[n])) throw new OptionError(`${this.at(name)}[${n}] must be ${rule}, got ${describe(list[n])}`);
    return list;
  }

  #tensorList(name: string, value: unknown): ArrayLike<number> {
    if (!isObject(value) || !("data" in value)) throw this.refuse(name, "be a list of numbers");
    const { data, shape } = checkTensor(this.operation, this.name(name), value, ["float32", "int32"]);
    if (shape.length !== 1) throw new ShapeError(`${this.at(name)} must have rank 1, got shape ${describe(shape)}`);
    return data;
  }

  #unknown(name: string, names: readonly string[]): OptionError {
    const nearest = otherName(this.operation, this.path, name, names) ?? suggestion(name, names);
    const place = this.path ? ` in ${this.path}` : "";
    return new OptionError(
      `${this.operation}: unknown option ${JSON.stringify(name)}${place}${nearest ? `; ${nearest}` : ""}`,
      { hint: `Known options: ${names.join(", ")}.` },
    );
  }
}

/** The signal among options that are read later, in their call's turn. */
export function signalOf(operation: string, options: unknown): AbortSignal | undefined {
  return argument(operation, "signal", (options as { readonly signal?: unknown } | undefined)?.signal).signal();
}

/** Reads an argument as if it were an option of that name. */
export function argument(operation: string, name: string, value: unknown): OptionReader {
  return new OptionReader(operation, "", { [name]: value }, [name]);
}

function isList(value: unknown): value is ArrayLike<number> {
  return Array.isArray(value) || ["Float32Array", "Int32Array"].includes(arrayKind(value) ?? "");
}

/** Numbers that overflow float32 would reach the engine as infinities. */
function isFinite32(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(Math.fround(value));
}

function isInteger(value: unknown, { min = MIN_INTEGER, max = MAX_INTEGER }: IntegerRule): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function integerRule({ min, max }: IntegerRule): string {
  if (min !== undefined && max !== undefined) return `an integer from ${min} to ${max}`;
  return min === undefined ? "an integer" : `an integer of at least ${min}`;
}

function alternatives(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(" or ");
}

/** "did you mean …?" when one of `names` is a typing slip away from `word`. */
export function suggestion(word: unknown, names: readonly string[]): string | undefined {
  if (typeof word !== "string") return undefined;
  const distance = (name: string) => editDistance(word.toLowerCase(), name.toLowerCase());
  const nearest = [...names].sort((a, b) => distance(a) - distance(b))[0]!;
  return distance(nearest) <= Math.max(2, word.length / 3) ? `did you mean ${JSON.stringify(nearest)}?` : undefined;
}

/** Levenshtein's distance, one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const letter of a) {
    let left = row[0]! + 1;
    const rest = Array.from(
      b,
      (other, j) => (left = Math.min(left + 1, row[j + 1]! + 1, row[j]! + +(letter !== other))),
    );
    row = [row[0]! + 1, ...rest];
  }
  return row.at(-1)!;
}
