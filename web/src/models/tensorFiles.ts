import { describe } from "../base/describe.js";
import { OptionError, ShapeError, UnsupportedError, type ErrorDetails } from "../base/errors.js";
import { throwIfAborted } from "../read/abort.js";
import { product } from "../tensor/product.js";
import { assertNoHoles, headerPlace, storedTensors, type StoredTensor } from "../train/safetensorsHeader.js";
import { STORED_BYTES, widened, type StoredDtype } from "../train/storedFloats.js";
import type { ModelFiles, Source } from "./modelFiles.js";
import { noWeights, weightFiles } from "./weightFiles.js";

/**
 * The largest piece of a tensor that is read at once, in bytes, if its rows are not longer. Larger pieces need more memory
 * during loading: `node tests/bench/lab/loading.mjs` measures it.
 */
const PIECE = 2 ** 20;
/** So many pieces are read at a time, at most. A file in Node gives 0.7 GB/s with one piece at a time, and 2 GB/s with four. */
const AT_A_TIME = 4;

/** A tensor of a file whose name, shape and dtype have been checked. */
export interface FileTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: StoredDtype;
  readonly numBytes: number;
}

/** How far the reading of a model has come. */
export interface LoadProgress {
  /** Bytes of tensors that have been read. */
  readonly loadedBytes: number;
  /** Bytes of all tensors that the model has. */
  readonly totalBytes: number;
  /** The tensor that is being read. */
  readonly tensor: string;
}

/** A tensor that is to be read. */
export interface WantedTensor {
  readonly tensor: FileTensor;
  /** Whether all of it comes in one piece. */
  readonly isWhole: boolean;
}

/** Some of the bytes of a tensor. */
export interface Piece {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The number of elements before them. */
  readonly at: number;
  /** Whether the tensor ends with them. */
  readonly isLast: boolean;
}

/** A tensor in a file; undefined if its file is missing. */
type Placed = (StoredTensor & { readonly source: Source }) | undefined;

/** The tensors of all `.safetensors` files of a model. A tensor is read in pieces of whole rows. */
export class TensorFiles {
  readonly #operation: string;
  readonly #tensors: ReadonlyMap<string, Placed>;
  readonly #assertNoHoles: () => void;
  /** Files that are missing. */
  readonly missing: readonly string[];

  private constructor(
    operation: string,
    tensors: ReadonlyMap<string, Placed>,
    missing: readonly string[],
    assertNoHoles: () => void,
  ) {
    this.#operation = operation;
    this.#tensors = tensors;
    this.missing = missing;
    this.#assertNoHoles = assertNoHoles;
  }

  /**
   * Reads the headers of the files.
   *
   * @param mayMiss - Whether files may be missing. Their tensors cannot be read.
   * @throws OptionError if a file is missing; with code `"CORRUPT_DATA"` if one is damaged.
   */
  static async open(operation: string, files: ModelFiles, mayMiss: boolean): Promise<TensorFiles> {
    const { names, missing, missingTensors } = await weightFiles(operation, files);
    if (!mayMiss && missing.length > 0 && missingTensors.length === 0) throw noWeights(operation, files);
    const tensors = new Map<string, Placed>(missingTensors.map((name) => [name, undefined]));
    const checks: (() => void)[] = [];
    for (const file of names) {
      if (mayMiss && missing.includes(file)) continue;
      const source = await files.source(file);
      const { size } = source;
      const header = headerPlace({ operation, file }, await source.bytes(0, Math.min(8, size)), size);
      const stored = storedTensors({ operation, file }, await source.bytes(header.from, header.to), size);
      for (const [name, tensor] of stored) {
        if (tensors.get(name)) throw twice(operation, name, file);
        tensors.set(name, { ...tensor, source });
      }
      checks.push(() => assertNoHoles({ operation, file }, stored, header.to, size));
    }
    return new TensorFiles(operation, unwrapped(tensors), missing, () => checks.forEach((check) => check()));
  }

  /** The names of all tensors. */
  get names(): string[] {
    return [...this.#tensors.keys()];
  }

  /**
   * Throws if bytes of a file belong to no tensor. To be called when all tensors were found: a tensor that is missing is the
   * better message.
   */
  assertNoHoles(): void {
    this.#assertNoHoles();
  }

  has(name: string): boolean {
    return this.#tensors.has(name);
  }

  /** Whether a tensor's name begins like this. */
  hasUnder(prefix: string): boolean {
    return this.names.some((name) => name.startsWith(prefix));
  }

  /**
   * The tensor of this name, which must have this shape. Its numbers are not read. If files are missing, tensors that are
   * missing are taken to be in them.
   *
   * @throws OptionError if it is missing, ShapeError if it has another shape, UnsupportedError if it has another dtype.
   */
  tensor(name: string, shape: readonly number[]): FileTensor {
    const found = this.#tensors.get(name);
    if (!found && this.missing.length > 0) return { name, shape, dtype: "F32", numBytes: 4 * product(shape) };
    if (!found)
      throw this.#error(OptionError, name, "is missing in the files", { code: "CORRUPT_DATA", hint: this.#like(name) });
    if (describe(found.shape) !== describe(shape))
      throw this.#error(
        ShapeError,
        name,
        `must have shape ${describe(shape)}, as config.json says, got ${describe(found.shape)}`,
      );
    if (!Object.hasOwn(STORED_BYTES, found.dtype))
      throw this.#error(
        UnsupportedError,
        name,
        `must be stored as ${Object.keys(STORED_BYTES).join(", ")}, got ${found.dtype}`,
      );
    return { name, shape, dtype: found.dtype as StoredDtype, numBytes: found.to - found.from };
  }

  /**
   * Throws if two tensors, which are two names of one, do not begin with the same numbers. Those of other models differ from
   * the first row on: so little is read.
   */
  async assertSame(first: string, second: string): Promise<void> {
    const [a, b] = [await this.#beginning(first), await this.#beginning(second)];
    const length = Math.min(a.length, b.length);
    const isSameShape = describe(this.#tensors.get(first)!.shape) === describe(this.#tensors.get(second)!.shape);
    if (isSameShape && length > 0 && a.subarray(0, length).every((number, n) => Object.is(number, b[n]))) return;
    throw new UnsupportedError(
      `${this.#operation}: tensors ${describe(first)} and ${describe(second)} must hold the same, because config.json says ` +
        "that the head is the table of words",
      { hint: "To use both, set tie_word_embeddings to false in config.json." },
    );
  }

  /** The first numbers of a tensor; none if its dtype is not read. */
  async #beginning(name: string): Promise<Float32Array> {
    const { source, from, to, dtype } = this.#tensors.get(name)!;
    if (!Object.hasOwn(STORED_BYTES, dtype)) return new Float32Array();
    return widened(dtype as StoredDtype, await source.bytes(from, Math.min(from + PIECE, to)));
  }

  #error(Class: typeof OptionError, name: string, rule: string, details?: ErrorDetails) {
    return new Class(`${this.#operation}: tensor ${describe(name)} ${rule}`, details);
  }

  /** A hint, if the files have the tensor under a longer name. */
  #like(name: string): string | undefined {
    const longer = this.names.find((each) => each.endsWith(`.${name}`));
    if (longer === undefined) return undefined;
    const prefix = longer.slice(0, -name.length);
    return `The files have ${describe(longer)}: take ${describe(prefix)} off the names of tensors.`;
  }

  /**
   * Reads tensors in their order, piece by piece. While a piece is used, the next ones are on their way. Later pieces may lie
   * in the memory of one that was used.
   *
   * @throws The reason of `signal` if it aborts.
   */
  async *pieces(tensors: Iterable<WantedTensor>, signal: AbortSignal | undefined): AsyncGenerator<Piece, undefined> {
    const reading: { readonly numBytes: number; readonly piece: Promise<Piece> }[] = [];
    const spare: ArrayBuffer[] = [];
    const places = this.#places(tensors);
    let next = places.next();
    while (!next.done || reading.length > 0) {
      throwIfAborted(signal);
      for (; !next.done && hasRoom(reading, next.value); next = places.next()) {
        const { source, from, to, at, isLast } = next.value;
        const piece = bytesOf(source, from, to, spare.pop()).then((bytes) => ({ bytes, at, isLast }));
        piece.catch(() => undefined); // it rejects where it is awaited; after an abort nothing awaits it
        reading.push({ numBytes: to - from, piece });
      }
      const piece = await reading.shift()!.piece;
      yield piece;
      spare.push(piece.bytes.buffer);
    }
    throwIfAborted(signal);
  }

  *#places(tensors: Iterable<WantedTensor>): Generator<Place, undefined> {
    for (const { tensor, isWhole } of tensors) {
      const { from, to, source } = this.#tensors.get(tensor.name)!; // `tensor` has found it
      const size = STORED_BYTES[tensor.dtype];
      const row = tensor.shape.at(-1)! * size;
      const step = isWhole ? to - from : Math.max(Math.floor(PIECE / row), 1) * row;
      for (let at = from; at < to; at += step) {
        const end = Math.min(at + step, to);
        yield { source, from: at, to: end, at: (at - from) / size, isLast: end === to };
      }
    }
  }
}

/** Where a piece lies. */
type Place = Omit<Piece, "bytes"> & { readonly source: Source; readonly from: number; readonly to: number };

/** Bytes of a file, in memory that is there already if it has room and the file can be read to it. */
async function bytesOf(source: Source, from: number, to: number, spare: ArrayBuffer | undefined) {
  if (!source.fill) return source.bytes(from, to);
  const length = to - from;
  const filled = new Uint8Array(spare && spare.byteLength >= length ? spare : new ArrayBuffer(length), 0, length);
  await source.fill(filled, from);
  return filled;
}

/** Whether one more piece may be read. One that is too large is read alone. */
function hasRoom(reading: readonly { readonly numBytes: number }[], { from, to }: Place): boolean {
  const most = AT_A_TIME * PIECE;
  const all = reading.reduce((sum, { numBytes }) => sum + numBytes, to - from);
  return reading.length === 0 || (reading.length < AT_A_TIME && all <= most);
}

/** Prefixes of wrappers: torch.compile and DataParallel. They say nothing about the model. */
const WRAPPERS = ["_orig_mod.", "module."];

/** Takes wrappers off the names, if all names have them. */
function unwrapped(tensors: ReadonlyMap<string, Placed>): ReadonlyMap<string, Placed> {
  const names = [...tensors.keys()];
  const wrapper = WRAPPERS.find((prefix) => names.length > 0 && names.every((name) => name.startsWith(prefix)));
  if (wrapper === undefined) return tensors;
  return unwrapped(new Map([...tensors].map(([name, tensor]) => [name.slice(wrapper.length), tensor])));
}

function twice(operation: string, name: string, file: string): OptionError {
  return new OptionError(
    `${operation}: ${describe(file)} has the tensor ${describe(name)}, which another file has too`,
    {
      code: "CORRUPT_DATA",
      hint: "It is not known which one is right. Give the files of one model only.",
    },
  );
}
