import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError, UnsupportedError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind, isArray } from "../base/typedArray.js";
import { checkGpuTensor, isGpuTensor, type GpuTensor } from "../tensor/gpuTensor.js";
import type { Placement } from "../tensor/placement.js";
import {
  DTYPE_OF_ARRAY,
  DTYPES,
  elementCount,
  MAX_EXTENT,
  MAX_RANK,
  type BufferTensor,
  type CheckedTensor,
  type Dtype,
  type TensorData,
} from "../tensor/tensor.js";
import { arraysOf, dataHint, dtypeHint, tensorHint } from "./arrayHints.js";
import { readNested, type NestedNumbers } from "./nested.js";
import { dtypeOfElements, numbersAs, type Element } from "./plainNumbers.js";
import { readRecord } from "./record.js";
import { Views } from "./views.js";

/** The largest length of a list of numbers in the options. */
const MAX_LIST = 2 ** 26;

/**
 * The largest number of elements in a plain array that is used as a tensor. A larger one is refused, because every call
 * would copy it, and that would be slow.
 */
const MOST_PLAIN = 2 ** 16;

/**
 * Reads the arguments of one call. No other code reads an object of the caller.
 *
 * Everything is read once, when the call is made. Shapes become arrays of checked integers. Typed arrays become our own
 * views on the same memory. Objects of options become maps. Later code gets only these. So a change of the caller's
 * objects cannot undo a check.
 *
 * A call may wait for its turn. Meanwhile the memory of its arrays may be transferred, shrunk or detached, so
 * `assertIntact` checks the memory again.
 */
export class CallArguments {
  readonly #views: Views;
  readonly #needs: (() => unknown)[] = [];
  /** Whether the call changes a cache or a layer. Then it is not given up while it runs: its promise tells what it has done. */
  changes = false;

  /** @param operation - The name of the public function. It is the first word of every message. */
  constructor(
    readonly operation: string,
    readonly placement: Placement = {},
  ) {
    this.#views = new Views(operation, placement);
  }

  /**
   * Checks that `value` is a tensor of one of `dtypes`, wherever it lies. The numbers of a typed array are not copied.
   *
   * @throws ShapeError if the shape is wrong or does not fit the data.
   * @throws OptionError if the value is not a tensor, its dtype is wrong or its memory was detached.
   * @throws UnsupportedError if the tensor lies on the GPU and the engine cannot read it there.
   */
  placed<D extends Dtype = Dtype>(
    argument: string,
    value: unknown,
    dtypes: readonly D[] = DTYPES as readonly D[],
  ): CheckedTensor<D> | BufferTensor<D> {
    const given = isArray(value) ? undefined : this.#fields(argument, value);
    if (given && isGpuTensor(given) && this.placement.onGpu) return this.#gpuTensor(argument, given, dtypes);
    return this.#inMemory(argument, value, given, dtypes);
  }

  /**
   * The same for a tensor that must not lie on the GPU.
   *
   * @throws UnsupportedError if it does.
   */
  tensor<D extends Dtype = Dtype>(
    argument: string,
    value: unknown,
    dtypes: readonly D[] = DTYPES as readonly D[],
  ): CheckedTensor<D> {
    return this.#inMemory(argument, value, isArray(value) ? undefined : this.#fields(argument, value), dtypes);
  }

  /** @param given - The fields of `value`; undefined if it is an array. */
  #inMemory<D extends Dtype>(
    argument: string,
    value: unknown,
    given: TensorFields | undefined,
    dtypes: readonly D[],
  ): CheckedTensor<D> {
    if (!given) return this.#plainTensor(argument, readNested(this, argument, value as object, MOST_PLAIN), dtypes);
    if (isGpuTensor(given))
      throw new UnsupportedError(
        `${this.operation}: ${argument} is a GPU tensor, which this engine or operation cannot read`,
        { hint: "`download` of an instance with WebGPU brings it to JavaScript." },
      );
    const { data } = given;
    if (given.isTensor && this.#mustConvert(data, dtypes)) return this.#convertedTensor(argument, given, dtypes);
    if (!given.isTensor)
      throw new OptionError(`${this.operation}: ${argument} must be a tensor { data, shape }, got ${describe(value)}`, {
        hint: tensorHint(argument, value, dtypes),
      });
    const dtype = this.#dtypeOf(argument, data, given.dtype, dtypes);
    const shape = this.shape(argument, given.shape);
    const view = this.#views.of(`${argument}.data`, data as object, dtype);
    const size = elementCount(this.operation, argument, shape);
    if (size !== view.length)
      throw new ShapeError(
        `${this.operation}: ${argument}.data.length must be the product of shape ${describe(shape)}, ` +
          `got ${view.length} and ${size}`,
      );
    const address = this.#locate(argument, data as object, view);
    if (address === undefined) this.#views.watch(argument, view);
    else this.#needs.push(() => this.#locate(argument, data as object, view));
    const half = arrayKind(data) === "Float16Array";
    return { data: view, shape, dtype, address, half } as unknown as CheckedTensor<D>;
  }

  #locate(argument: string, data: object, view: TensorData): number | undefined {
    return this.placement.locate?.(this.operation, argument, data, view);
  }

  /** The caller's array of one of our views. Use only its identity. */
  given(view: TensorData): object | undefined {
    return this.#views.given(view);
  }

  /** Checks that `value` is a Uint8Array. Its bytes are not copied. */
  bytes(argument: string, value: unknown, hint: string): Uint8Array {
    if (arrayKind(value) !== "Uint8Array")
      throw new OptionError(`${this.operation}: ${argument} must be a Uint8Array, got ${describe(value)}`, { hint });
    const view = this.#views.of(argument, value as object, "bool") as Uint8Array;
    this.#views.watch(argument, view);
    return view;
  }

  /** Reads a shape: an array of non-negative integers. */
  shape(argument: string, value: unknown): number[] {
    return this.guarded(`${argument}.shape`, () => {
      if (!Array.isArray(value))
        throw new ShapeError(
          `${this.operation}: ${argument}.shape must be an array of integers, got ${describe(value)}`,
        );
      const rank = value.length;
      if (rank > MAX_RANK)
        throw new ShapeError(`${this.operation}: ${argument}.shape must have at most ${MAX_RANK} axes, got ${rank}`);
      const extents: number[] = [];
      for (let axis = 0; axis < rank; ++axis) {
        const extent: unknown = value[axis];
        if (!Number.isInteger(extent) || (extent as number) < 0 || (extent as number) > MAX_EXTENT)
          throw new ShapeError(
            `${this.operation}: ${argument}.shape[${axis}] must be an integer from 0 to ${MAX_EXTENT}, ` +
              `got ${describe(extent)}`,
          );
        extents.push((extent as number) + 0); // makes −0 to 0
      }
      return extents;
    });
  }

  /**
   * Reads the elements of an array or a typed array, each once.
   *
   * @param check - Gets the number of elements; throws if that number is wrong.
   * @param read - Checks and converts one element.
   */
  list<T>(
    argument: string,
    value: object,
    check: (length: number) => void,
    read: (element: unknown, n: number) => T,
  ): T[] {
    return this.guarded(argument, () => {
      const list = arrayKind(value) ? this.#views.elements(argument, value) : (value as readonly unknown[]);
      const { length } = list;
      check(length);
      if (length > MAX_LIST)
        throw new OptionError(`${this.operation}: ${argument} must have at most ${MAX_LIST} entries, got ${length}`);
      const elements: T[] = [];
      for (let n = 0; n < length; ++n) elements.push(read(list[n], n));
      return elements;
    });
  }

  /**
   * Reads the properties of an object of options: its own and inherited ones, but not those of Object.prototype.
   *
   * @param names - The known names. Accessors of a class are not enumerable: they are read only if their names are
   *   here.
   */
  record(argument: string, value: unknown, names: readonly string[]): ReadonlyMap<string, unknown> {
    return this.guarded(argument, () => readRecord(this.operation, argument, value, names));
  }

  /**
   * Runs code that reads the caller's objects. If an accessor or a proxy of the caller throws, an OptionError is
   * thrown.
   */
  guarded<T>(argument: string, read: () => T): T {
    return guarded(this.operation, argument, read);
  }

  /**
   * Finds what the call needs, such as a cache. Reading the arguments may run accessors of the caller, and these may dispose
   * it. So it is looked for once more when all is read.
   *
   * @param find - Throws if it was disposed.
   */
  needs<T>(find: () => T): T {
    const found = find();
    this.#needs.push(find);
    return found;
  }

  /** Throws if an accessor of the caller has disposed what the call needs. */
  assertAlive(): void {
    for (const find of this.#needs.splice(0)) find();
  }

  /**
   * Throws if the memory of an array has changed since the call was made.
   *
   * @throws OptionError with code `"DETACHED_INPUT"`.
   */
  assertIntact(): void {
    this.#views.assertIntact();
  }

  /** Reads the fields of a tensor, each once. */
  #fields(argument: string, value: unknown): TensorFields {
    if (!isObject(value)) return { isTensor: false };
    return this.guarded(argument, () => {
      const name = shapeName(value);
      const { data, [name]: shape, dtype, buffer, offset, disposed } = value as GivenFields;
      return { isTensor: "data" in value && name in value, data, shape, dtype, buffer, offset, disposed };
    });
  }

  /**
   * Whether the data must be converted to one of these dtypes: a plain array, or integers of another class of arrays.
   */
  #mustConvert(data: unknown, dtypes: readonly Dtype[]): boolean {
    const kind = arrayKind(data);
    if (kind === undefined) return isArray(data);
    const isFlags = wantsFlags(dtypes);
    return kind === "BigInt64Array" ? isFlags || dtypes.includes("int32") : kind === "Int32Array" && isFlags;
  }

  #convertedTensor<D extends Dtype>(argument: string, given: TensorFields, dtypes: readonly D[]): CheckedTensor<D> {
    const shape = this.shape(argument, given.shape);
    const size = elementCount(this.operation, argument, shape);
    const checkLength = (length: number) => {
      if (length !== size)
        throw new ShapeError(
          `${this.operation}: ${argument}.data.length must be the product of shape ${describe(shape)}, ` +
            `got ${length} and ${size}`,
        );
      if (length > MOST_PLAIN && isArray(given.data))
        throw new OptionError(
          `${this.operation}: ${argument}.data may hold at most ${MOST_PLAIN} numbers in a plain array, got ${length}`,
          { hint: `${arraysOf(dtypes.slice(0, 1))}.from(data) makes a typed array, which may be of any size.` },
        );
    };
    const name = `${argument}.data`;
    const elements = this.list(name, given.data as object, checkLength, (element) => element as Element);
    const isInt64 = arrayKind(given.data) === "BigInt64Array" && (dtypes as readonly Dtype[]).includes("int32");
    // the dtype of an Int32Array says nothing about the flags that its integers are
    const stated = given.dtype === "int32" && wantsFlags(dtypes) && arrayKind(given.data) ? undefined : given.dtype;
    return this.#plainTensor(argument, { elements, shape }, dtypes, stated ?? (isInt64 ? "int32" : undefined), name);
  }

  /** A tensor of our own that holds these numbers. */
  #plainTensor<D extends Dtype>(
    argument: string,
    { elements, shape }: NestedNumbers,
    dtypes: readonly D[],
    stated?: unknown,
    name = argument,
  ): CheckedTensor<D> {
    const dtype = stated ?? dtypeOfElements(elements[0], dtypes);
    if (!(dtypes as readonly unknown[]).includes(dtype))
      throw new OptionError(
        `${this.operation}: ${argument} must be of dtype ${dtypes.join(" or ")}, got ${describe(dtype)}`,
      );
    const data = numbersAs(this.operation, name, elements, dtype as D);
    return { data, shape, dtype, half: false, isCopy: true } as unknown as CheckedTensor<D>;
  }

  #gpuTensor<D extends Dtype>(argument: string, given: TensorFields, dtypes: readonly D[]): BufferTensor<D> {
    return checkGpuTensor(
      this.operation,
      argument,
      { ...given, shape: this.shape(argument, given.shape) } as GpuTensor,
      dtypes,
    );
  }

  #dtypeOf(argument: string, data: unknown, stated: unknown, dtypes: readonly Dtype[]): Dtype {
    const kind = arrayKind(data);
    const isBfloat = kind === "Uint16Array" && stated === "bfloat16";
    const dtype = isBfloat ? "bfloat16" : DTYPE_OF_ARRAY[kind ?? ""];
    if (!dtype)
      throw new OptionError(
        `${this.operation}: ${argument}.data must be a ${arraysOf(dtypes)}, got ${describe(data)}`,
        {
          hint: dataHint(argument, data, dtypes),
        },
      );
    if (stated !== undefined && stated !== dtype)
      throw new OptionError(
        `${this.operation}: ${argument}.dtype must be "${dtype}", which its data (${kind}) holds, got ${describe(stated)}`,
      );
    if (!dtypes.includes(dtype))
      throw new OptionError(`${this.operation}: ${argument} must be of dtype ${dtypes.join(" or ")}, got ${dtype}`, {
        hint: dtypeHint(argument, dtype, dtypes),
      });
    return dtype;
  }
}

interface TensorFields {
  /** Whether it has `data` and `shape`, of any type. */
  readonly isTensor: boolean;
  readonly data?: unknown;
  readonly shape?: unknown;
  readonly dtype?: unknown;
  readonly buffer?: unknown;
  readonly offset?: unknown;
  readonly disposed?: unknown;
}

/** A tensor of the caller's, which may have its shape under another name. */
type GivenFields = Omit<TensorFields, "isTensor"> & { readonly dims?: unknown };

/** The name under which a tensor has its shape. ONNX Runtime and transformers.js name it `dims`. */
export function shapeName(tensor: object): "shape" | "dims" {
  return "dims" in tensor && !("shape" in tensor) ? "dims" : "shape";
}

/** Whether an argument is a mask: integers 0 and 1 are taken, too. */
const wantsFlags = (dtypes: readonly Dtype[]) => dtypes.length === 1 && dtypes[0] === "bool";
