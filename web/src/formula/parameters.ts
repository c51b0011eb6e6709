import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind, isAnyArray, isArray, isIntact, viewOf } from "../base/typedArray.js";
import { readRecord } from "../read/record.js";
import { product } from "../tensor/product.js";
import type { Parameter, Table } from "./graph.js";
import { MAX_ELEMENTS, MAX_PARAMETERS, MAX_WHOLE } from "./limits.js";
import { didYouMean, isReserved } from "./names.js";

/**
 * The numbers of a table in a list; true is 1 and false is 0. In an Int32Array or a Uint8Array all of them are whole, now and
 * later.
 */
export type TableList = Float32Array | Int32Array | Uint8Array | readonly (number | boolean)[];

/** A table: a list, or the rows of a table with two axes, or the numbers in row-major order and their shape. */
export type TableValue =
  | TableList
  | readonly TableList[]
  | { readonly data: TableList; readonly shape: readonly number[] };

/** The value of a parameter. */
export type ParameterValue = number | boolean | TableValue;

/** A parameter that has been read and copied. */
export interface ReadParameter extends Parameter {
  readonly value: number | Table;
}

/** Reads parameters by name. */
export function readParameters(operation: string, given: unknown): ReadParameter[] {
  return guarded(operation, "the parameters", () => {
    const values = readRecord(operation, "the parameters", given, []);
    if (values.size > MAX_PARAMETERS)
      throw new OptionError(`${operation}: there may be at most ${MAX_PARAMETERS} parameters, got ${values.size}`);
    return [...values]
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => {
        checkName(operation, name);
        return { name, ...guarded(operation, name, () => readValue(operation, name, value)) };
      });
  });
}

/** Puts new values in the places of old ones. */
export function replaced(
  operation: string,
  parameters: readonly Parameter[],
  values: readonly (number | Table)[],
  given: unknown,
): (number | Table)[] {
  const news = [...values];
  for (const read of readParameters(operation, given)) {
    const slot = parameters.findIndex(({ name }) => name === read.name);
    if (slot < 0) throw unknown(operation, read.name, parameters);
    news[slot] = fitting(operation, parameters[slot]!, read);
  }
  return news;
}

function unknown(operation: string, name: string, parameters: readonly Parameter[]): OptionError {
  const names = parameters.map((parameter) => parameter.name);
  return new OptionError(`${operation}: ${name} is not a parameter${didYouMean(name, names)}`, {
    hint: names.length > 0 ? `The parameters are ${names.join(", ")}.` : "The formula has no parameters.",
  });
}

/** The program of a formula depends on the ranks of its parameters, and on which of them are whole. */
function fitting(operation: string, { name, rank, integer }: Parameter, read: ReadParameter): number | Table {
  const kinds = ["a number", "a table with one axis", "a table with two axes"];
  if (read.rank !== rank)
    throw new ShapeError(`${operation}: ${name} must stay ${kinds[rank]}, got ${kinds[read.rank]}`);
  if (integer && !read.integer) {
    if (typeof read.value === "number") checkWhole(operation, name, read.value);
    else checkAllWhole(operation, name, read.value.data);
  }
  return read.value;
}

function checkName(operation: string, name: string): void {
  if (!/^[A-Za-z_$][\w$]*$/.test(name))
    throw new OptionError(`${operation}: ${describe(name)} cannot be the name of a parameter`, {
      hint: "A name consists of the letters a to z and A to Z, digits, _ and $, and does not begin with a digit.",
    });
  if (isReserved(name))
    throw new OptionError(`${operation}: a parameter cannot have the name ${name}, which every formula knows`);
}

type Read = Omit<ReadParameter, "name">;

function readValue(operation: string, name: string, value: unknown): Read {
  if (typeof value === "number") return { rank: 0, integer: false, value: float32(operation, name, value) };
  if (typeof value === "boolean") return { rank: 0, integer: true, value: value ? 1 : 0 };
  if (!isObject(value)) throw refused(operation, name, value);
  if (isArray(value) && isAnyArray((value as readonly unknown[])[0]))
    return readRows(operation, name, value as unknown[]);
  if (isAnyArray(value)) {
    const data = readList(operation, name, value);
    return table(operation, name, data, isWholeArray(value), [data.length]);
  }
  const { data, shape } = value as { readonly data?: unknown; readonly shape?: unknown };
  if (!isAnyArray(data) || !Array.isArray(shape)) throw refused(operation, name, value);
  const extents = Array.from({ length: Math.min(shape.length, 3) }, (_, axis) => shape[axis] as unknown);
  if (extents.length < 1 || extents.length > 2 || !extents.every((extent) => Number.isInteger(extent)))
    throw new ShapeError(`${operation}: ${name}.shape must be one or two whole numbers, got ${describe(shape)}`);
  return table(operation, name, readList(operation, `${name}.data`, data), isWholeArray(data), extents as number[]);
}

function refused(operation: string, name: string, value: unknown): OptionError {
  return new OptionError(
    `${operation}: ${name} must be a number, true, false, or a table of numbers, got ${describe(value)}`,
    { hint: "A table is a list of numbers, a list of such lists, or { data, shape }." },
  );
}

function readRows(operation: string, name: string, given: readonly unknown[]): Read {
  const { length } = given;
  let data = new Float32Array();
  let columns = 0;
  let integer = true;
  for (let n = 0; n < length; ++n) {
    const row = given[n];
    if (!isAnyArray(row))
      throw new ShapeError(`${operation}: ${name}[${n}] must be a list like ${name}[0], got ${describe(row)}`);
    const numbers = numbersIn(operation, `${name}[${n}]`, row);
    if (n === 0) {
      columns = numbers.length;
      checkSize(operation, name, length * columns);
      data = new Float32Array(length * columns);
    }
    if (numbers.length !== columns)
      throw new ShapeError(
        `${operation}: ${name}[${n}] must be as long as ${name}[0], got ${numbers.length} and ${columns}`,
      );
    copyNumbers(operation, `${name}[${n}]`, numbers, data, n * columns);
    integer &&= isWholeArray(row);
  }
  return table(operation, name, data, integer, [length, columns]);
}

/** Whether an array holds whole numbers by its class. Plain numbers may become fractions later. */
function isWholeArray(list: object): boolean {
  return ["Int32Array", "Uint8Array"].includes(arrayKind(list) ?? "");
}

/** A copy of the numbers of a list. */
function readList(operation: string, name: string, list: object): Float32Array {
  const numbers = numbersIn(operation, name, list);
  const copy = new Float32Array(numbers.length);
  copyNumbers(operation, name, numbers, copy, 0);
  return copy;
}

/** The elements of a list, whose length has been checked. Those of a typed array are numbers. */
function numbersIn(operation: string, name: string, list: object): ArrayLike<unknown> {
  const kind = arrayKind(list);
  if (kind !== undefined && !["Float32Array", "Int32Array", "Uint8Array"].includes(kind))
    throw new OptionError(
      `${operation}: ${name} must be a Float32Array, Int32Array, Uint8Array or a list of numbers, got ${describe(list)}`,
      { hint: `Float32Array.from(${name}) makes one.` },
    );
  if (kind !== undefined && !isIntact(list))
    throw new OptionError(`${operation}: the memory of ${name} was transferred, shrunk or detached`, {
      code: "DETACHED_INPUT",
    });
  const numbers = kind === undefined ? (list as readonly unknown[]) : (viewOf(list) as ArrayLike<number>);
  checkSize(operation, name, numbers.length);
  if (isWholeArray(list)) checkAllWhole(operation, name, numbers as ArrayLike<number>);
  return numbers;
}

/** Checks the elements of a list, and copies them to the place that begins at `start`. */
function copyNumbers(operation: string, name: string, numbers: ArrayLike<unknown>, to: Float32Array, start: number) {
  const { length } = numbers;
  if (arrayKind(numbers) !== undefined) to.set(numbers as ArrayLike<number>, start);
  else
    for (let n = 0; n < length; ++n) {
      const value = numbers[n];
      to[start + n] = isFloat32(value) ? value : element(operation, `${name}[${n}]`, value);
    }
}

function element(operation: string, name: string, value: unknown): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "number")
    throw new OptionError(`${operation}: ${name} must be a number, got ${describe(value)}`);
  return float32(operation, name, value);
}

/** Whether a value is a number that float32 has, except for rounding. */
export function isFloat32(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) === Number.isFinite(Math.fround(value));
}

function float32(operation: string, name: string, value: number): number {
  const rounded = Math.fround(value);
  if (Number.isFinite(value) !== Number.isFinite(rounded))
    throw new OptionError(`${operation}: ${name} must fit in float32, got ${value}`);
  return rounded;
}

function checkSize(operation: string, name: string, size: number): void {
  if (size < 1 || size > MAX_ELEMENTS)
    throw new ShapeError(`${operation}: ${name} must have 1 to ${MAX_ELEMENTS} numbers, got ${size}`);
}

function checkAllWhole(operation: string, name: string, numbers: ArrayLike<number>): void {
  for (let n = 0; n < numbers.length; ++n)
    if (!isWhole(numbers[n]!)) checkWhole(operation, `${name}[${n}]`, numbers[n]!);
}

function checkWhole(operation: string, name: string, number: number): void {
  if (!isWhole(number))
    throw new OptionError(
      `${operation}: ${name} must be a whole number from ${-MAX_WHOLE} to ${MAX_WHOLE}, got ${number}`,
    );
}

/** float32 holds larger whole numbers only in part. */
const isWhole = (number: number) => Number.isInteger(number) && Math.abs(number) <= MAX_WHOLE;

function table(
  operation: string,
  name: string,
  data: Float32Array,
  integer: boolean,
  extents: readonly number[],
): Read {
  const size = product(extents);
  if (size !== data.length || extents.some((extent) => extent < 1))
    throw new ShapeError(
      `${operation}: ${name}.data.length must be the product of shape ${describe(extents)}, got ${data.length}`,
    );
  const value = Object.freeze({ data, extents: Object.freeze([...extents]) });
  return { rank: extents.length as 1 | 2, integer, value };
}
