import { DisposedError, OutOfMemoryError } from "../base/errors.js";
import { assertIntact } from "../base/intact.js";
import { textOf } from "../base/utf8.js";
import { EngineTensor, type NewTensor } from "../engine/engineTensor.js";
import { ARRAYS, BYTES, elementCount, type Dtype, type TensorDataOf } from "../tensor/tensor.js";
import { MemoryViews } from "./memoryViews.js";
import type { InputCopy } from "./module.js";
import { ResultArray } from "./resultArray.js";

/** The functions of the module that allocate memory. */
export interface Allocator {
  allocate(bytes: number): number;
  release(address: number): void;
}

export const MEMORY_HINT = "Raise `maximumMemory` of createAttention, split the call, or ask for less in `returns`.";

const ADDRESS_SPACE = 2 ** 32;

/** Memory of a tensor, and how many steps read it. */
interface HeldTensor {
  readonly bytes: number;
  holders: number;
}

/** Typed arrays that can be copied into the heap and out of it. */
export type HeapArray = TensorDataOf[Dtype];

/** Arrays of a call that are not larger share one block, which is kept: to allocate and free each would take longer. */
const SMALL_BYTES = 16 * 1024;
const BLOCK_BYTES = 4 * SMALL_BYTES;
/** Arrays begin at a line of memory, which suits every vector. */
export const LINE = 64;

/**
 * The engine's memory. Only this file and callFields.ts look into it.
 *
 * Memory may grow with every allocation, also on another thread. An older view is then too short. So a view never leaves
 * the method that made it, and `views` are made anew after each allocation and before and after each call.
 */
export class Heap {
  readonly #memory: WebAssembly.Memory;
  readonly #allocator: Allocator;
  /** Every buffer that this memory has had. After the memory has grown, the old buffers still show the same bytes. */
  readonly #buffers = new WeakSet<object>();
  /** The tensors that `allocateTensor` made, by address. */
  readonly #tensors = new Map<number, HeldTensor>();
  /** Tensors that were disposed while steps still read them. */
  readonly #kept = new Map<number, HeldTensor>();
  /** The arrays of disposed tensors. Another tensor may now lie at their address. */
  readonly #stale = new WeakSet<object>();
  #views: MemoryViews;

  constructor(memory: WebAssembly.Memory, allocator: Allocator) {
    this.#memory = memory;
    this.#allocator = allocator;
    this.#views = new MemoryViews(memory.buffer);
  }

  /** Views of the memory as it was at the latest `renew` or allocation. */
  get views(): MemoryViews {
    return this.#views;
  }

  /** Makes the views anew if the memory has grown, which a call may have done. */
  renew(): void {
    const { buffer } = this.#memory;
    if (buffer !== this.#views.buffer) this.#views = new MemoryViews(buffer);
  }

  /** Allocates `bytes` bytes and returns their address. */
  allocate(operation: string, bytes: number): number {
    const address = bytes < ADDRESS_SPACE ? this.#allocator.allocate(bytes) : 0;
    this.renew();
    if (address === 0)
      throw new OutOfMemoryError(
        `${operation}: an array of ${bytes} bytes does not fit the engine's memory, now ${this.#memory.buffer.byteLength} bytes`,
        { hint: MEMORY_HINT },
      );
    return address;
  }

  release(address: number): void {
    this.#allocator.release(address);
  }

  /** Makes an arena: it holds arrays and frees them together. */
  arena(operation: string): Arena {
    return new Arena(this, operation);
  }

  /** A block of memory that small arrays of calls share; undefined if there is no room. */
  block(): Block | undefined {
    const address = this.#allocator.allocate(BLOCK_BYTES);
    this.renew();
    return address === 0 ? undefined : new Block(address);
  }

  /** Copies `data` to `address`. */
  write(address: number, data: HeapArray): void {
    if (data instanceof Float32Array) this.#views.floats.set(data, address >>> 2);
    else this.#views.bytes.set(bytesOf(data), address);
  }

  /** Copies `length` elements at `address` to a new array that is not shared. */
  read<D extends Dtype>(address: number, dtype: D, length: number): TensorDataOf[D] {
    const copy = new ARRAYS[dtype](length) as TensorDataOf[D];
    this.readInto(address, copy);
    return copy;
  }

  /** Copies from `address` into `target` and fills it. */
  readInto(address: number, target: HeapArray): void {
    if (target instanceof Float32Array) target.set(new Float32Array(this.#memory.buffer, address, target.length));
    else bytesOf(target).set(this.#bytes(address, target.byteLength));
  }

  /** Copies bytes within the memory. */
  move(from: number, bytes: number, to: number): void {
    this.#views.bytes.copyWithin(to, from, from + bytes);
  }

  /** The C string at `address`. */
  text(address: number): string {
    const bytes = this.#bytes(address, this.#memory.buffer.byteLength - address);
    return textOf(bytes.subarray(0, bytes.indexOf(0)));
  }

  /**
   * A view of the word at `address`, for Atomics. The address must be fixed; the view stays valid when memory grows.
   */
  word(address: number): Int32Array {
    return new Int32Array(this.#memory.buffer, address, 1);
  }

  /**
   * Makes a tensor inside the engine.
   *
   * @param later - Takes the function that gives the memory back, and runs it after the calls made so far.
   */
  allocateTensor<D extends Dtype>(
    operation: string,
    { shape, dtype, zeros }: NewTensor<D>,
    later: (release: () => void) => void,
  ): EngineTensor<D> {
    const length = elementCount(operation, "tensor", shape);
    const bytes = length * BYTES[dtype];
    const address = this.allocate(operation, bytes);
    const held: HeldTensor = { bytes, holders: 0 };
    this.#tensors.set(address, held);
    if (zeros) this.#bytes(address, bytes).fill(0);
    const view = () => {
      const { buffer } = this.#memory;
      this.#buffers.add(buffer);
      return new ARRAYS[dtype](buffer, address, length) as TensorDataOf[D];
    };
    const release = () => {
      this.#tensors.delete(address);
      if (held.holders === 0) this.release(address);
      else this.#kept.set(address, held);
    };
    return new EngineTensor(view, Object.freeze([...shape]), dtype, (views) => {
      for (const array of views) this.#stale.add(array);
      later(release);
    });
  }

  /**
   * The address of a caller's array that lies in a tensor made by `allocateTensor`; undefined for any other array.
   *
   * @param given - The caller's array. `view` is our own view of its memory.
   */
  locate(operation: string, argument: string, given: object, view: HeapArray): number | undefined {
    if (!this.#buffers.has(view.buffer)) return undefined;
    const { byteOffset, byteLength } = view;
    const isWhole = (this.#tensors.get(byteOffset)?.bytes ?? -1) >= byteLength;
    const lies = ([address, { bytes }]: [number, HeldTensor]) =>
      byteOffset >= address && byteOffset + byteLength <= address + bytes;
    if (!this.#stale.has(given) && (isWhole || [...this.#tensors].some(lies))) return byteOffset;
    throw new DisposedError(`${operation}: ${argument} lies in a tensor that was disposed`);
  }

  /**
   * Keeps the tensor in which an address lies, also if it is disposed. The function that it returns lets it go; a second call
   * does nothing.
   *
   * @throws DisposedError if there is none any more.
   */
  hold(operation: string, place: number): () => void {
    const found = [...this.#tensors].find(([at, { bytes }]) => place >= at && place < at + bytes);
    if (!found) throw new DisposedError(`${operation}: a tensor of the step was disposed`);
    const [address, tensor] = found;
    tensor.holders++;
    let isHeld = true;
    return () => {
      if (isHeld && --tensor.holders === 0 && this.#kept.delete(address)) this.release(address);
      isHeld = false;
    };
  }

  #bytes(address: number, length: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, address, length);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: HeapArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** What gives room to the arrays of a call. */
export type Room = Pick<Arena, "bytes" | "room" | "result" | "copy">;

/** Memory that the small arrays of one call after the other share. */
class Block {
  #used = 0;

  constructor(readonly address: number) {}

  /** An address in the block; 0 if the array is too large or the block is full. */
  take(bytes: number): number {
    const begin = this.#used;
    if (bytes > SMALL_BYTES || begin + bytes > BLOCK_BYTES) return 0;
    this.#used = Math.ceil((begin + Math.max(bytes, 1)) / LINE) * LINE;
    return this.address + begin;
  }

  clear(): void {
    this.#used = 0;
  }
}

/** Arrays that live for one call. `free()` may be called in every state; then the arena can be used again. */
export class Arena {
  readonly #heap: Heap;
  readonly #block: Block | undefined;
  #operation: string;
  #addresses: number[] = [];
  #results: ResultArray<Dtype>[] = [];
  #size = 0;

  /** @param block - Takes the small arrays. */
  constructor(heap: Heap, operation: string, block?: Block) {
    this.#heap = heap;
    this.#operation = operation;
    this.#block = block;
  }

  /** Names the call that the next arrays belong to. */
  begin(operation: string): this {
    this.#operation = operation;
    return this;
  }

  /** Bytes of its arrays. */
  get size(): number {
    return this.#size;
  }

  /** Allocates `bytes` bytes and returns their address. */
  bytes(bytes: number): number {
    this.#size += bytes;
    const small = this.#block?.take(bytes) ?? 0;
    if (small !== 0) return small;
    const address = this.#heap.allocate(this.#operation, bytes);
    this.#addresses.push(address);
    return address;
  }

  /** Allocates room for `length` elements and returns its address. */
  room(dtype: Dtype, length: number): number {
    return this.bytes(length * BYTES[dtype]);
  }

  /** Allocates room for a result of `length` elements. */
  result<D extends Dtype>(dtype: D, length: number): ResultArray<D> {
    const result = new ResultArray(this.#heap, this.room(dtype, length), dtype, length);
    this.#results.push(result);
    return result;
  }

  /** Makes the arrays of the results, before their numbers are there. */
  makeResults(): void {
    for (const result of this.#results) result.make();
  }

  /**
   * Copies `data` and returns the copy's address, or 0 if `data` is absent. @param meanwhile - If given, the copy is not
   * made now but added to this list.
   *
   * @throws OptionError if the array has lost its memory while the code or the part of the module that the call needs came.
   */
  copy(data: HeapArray | undefined, meanwhile?: InputCopy[]): number {
    if (data === undefined) return 0;
    if (data.byteLength === 0) assertIntact(this.#operation, "an input", data); // one that is lost has no bytes
    const address = this.bytes(data.byteLength);
    if (meanwhile) meanwhile.push([address, bytesOf(data)]);
    else this.#heap.write(address, data);
    return address;
  }

  free(): void {
    for (const address of this.#addresses) this.#heap.release(address);
    this.#block?.clear();
    this.#size = 0;
    if (this.#addresses.length > 0) this.#addresses = [];
    if (this.#results.length > 0) this.#results = [];
  }
}
