import { throwIfAborted } from "../call/abort.js";
import { OptionError, ShapeError, UnsupportedError } from "../errors/errors.js";
import { describe, isObject } from "../foreign/describe.js";
import { assertNoHoles, headerPlace, storedTensors, type StoredTensor } from "../train/safetensorsHeader.js";
import type { ModelFiles, Source } from "./modelFiles.js";
import { STORED_BYTES, type StoredDtype } from "./storedNumbers.js";

/**
 * The largest piece of a tensor that is read at once, in bytes, if its rows are not longer. Larger pieces need more memory
 * during loading: `node tests/bench/lab/loading.mjs` measures it.
 */
const PIECE = 2 ** 20;

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

/** Some of the bytes of a tensor. */
export interface Piece {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The number of elements before them. */
  readonly at: number;
}

/** The tensors of all `.safetensors` files of a model. A tensor is read in pieces of whole rows. */
export class TensorFiles {
  readonly #operation: string;
  readonly #tensors: ReadonlyMap<string, StoredTensor & { readonly source: Source }>;

  readonly #assertNoHoles: () => void;

  private constructor(
    operation: string,
    tensors: Map<string, StoredTensor & { readonly source: Source }>,
    assertNoHoles: () => void,
  ) {
    this.#operation = operation;
    this.#tensors = tensors;
    this.#assertNoHoles = assertNoHoles;
  }

  /**
   * Reads the headers of the files: of `model.safetensors`, of the shards that `model.safetensors.index.json` names, or of
   * the only file with this ending.
   *
   * @throws OptionError if there are no such files; with code `"CORRUPT_DATA"` if one is damaged.
   */
  static async open(operation: string, files: ModelFiles): Promise<TensorFiles> {
    const tensors = new Map<string, StoredTensor & { readonly source: Source }>();
    const checks: (() => void)[] = [];
    for (const file of await shardsOf(operation, files)) {
      const source = files.source(file);
      const { size } = source;
      const header = headerPlace({ operation, file }, await source.bytes(0, Math.min(8, size)), size);
      const stored = storedTensors({ operation, file }, await source.bytes(header.from, header.to), size);
      for (const [name, tensor] of stored) tensors.set(name, { ...tensor, source });
      checks.push(() => assertNoHoles({ operation, file }, stored, header.to, size));
    }
    return new TensorFiles(operation, tensors, () => checks.forEach((check) => check()));
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
    return [...this.#tensors.keys()].some((name) => name.startsWith(prefix));
  }

  /**
   * The tensor of this name, which must have this shape. Its numbers are not read.
   *
   * @throws OptionError if it is missing, ShapeError if it has another shape, UnsupportedError if it has another dtype.
   */
  tensor(name: string, shape: readonly number[]): FileTensor {
    const found = this.#tensors.get(name);
    if (!found) throw this.#error(OptionError, name, "is missing in the files", "CORRUPT_DATA");
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

  #error(Class: typeof OptionError, name: string, rule: string, code?: "CORRUPT_DATA") {
    return new Class(`${this.#operation}: tensor ${describe(name)} ${rule}`, code && { code });
  }

  /**
   * Reads a tensor, piece by piece.
   *
   * @param isWhole - Whether all of it comes in one piece.
   * @throws The reason of `signal` if it aborts.
   */
  async *pieces(
    { name, shape, dtype }: FileTensor,
    isWhole: boolean,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Piece> {
    const { from, to, source } = this.#tensors.get(name)!;
    const size = STORED_BYTES[dtype];
    const row = shape.at(-1)! * size;
    const step = isWhole ? to - from : Math.max(Math.floor(PIECE / row), 1) * row;
    for (let at = from; at < to; at += step) {
      throwIfAborted(signal);
      yield { bytes: await source.bytes(at, Math.min(at + step, to)), at: (at - from) / size };
    }
    throwIfAborted(signal);
  }
}

const ENDING = ".safetensors";
const INDEX = "model.safetensors.index.json";

/** The names of the files with tensors. */
async function shardsOf(operation: string, files: ModelFiles): Promise<string[]> {
  if (files.has("model.safetensors")) return ["model.safetensors"];
  if (files.has(INDEX)) {
    const { weight_map: shards } = await files.json(INDEX);
    const names = isObject(shards) ? [...new Set(Object.values(shards))] : [];
    if (names.length > 0 && names.every((name): name is string => typeof name === "string")) return names;
    throw new OptionError(`${operation}: ${INDEX} must have a weight_map from tensors to files`, {
      code: "CORRUPT_DATA",
    });
  }
  const found = files.names.filter((name) => name.endsWith(ENDING));
  if (found.length === 1) return found;
  throw new OptionError(
    `${operation}: files must have model.safetensors, ${INDEX}, or one file that ends in ${ENDING}, ` +
      `got ${files.names.join(", ")}`,
    { hint: "Weights in other formats, such as pytorch_model.bin, must be converted first." },
  );
}
