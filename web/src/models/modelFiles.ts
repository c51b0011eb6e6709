import { OptionError } from "../errors/errors.js";
import { guarded } from "../errors/guarded.js";
import { assertIntact, assertIntactNow } from "../errors/intact.js";
import { describe, isObject } from "../foreign/describe.js";
import { arrayKind, viewOf } from "../foreign/typedArray.js";

/** What is used of a `Blob` or `File`. */
interface BlobLike {
  readonly size: number;
  slice(from: number, to: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** What is used of a `File`. `webkitRelativePath` is its path in the folder that the user chose. */
interface FileLike extends BlobLike {
  readonly name: string;
  readonly webkitRelativePath?: string | undefined;
}

/**
 * The files of a model: what an `<input type="file" webkitdirectory>` gives, or an array of `File`s, or an object of
 * `Blob`s or `Uint8Array`s by name. Names may be paths; the file that is nearest to the top is taken.
 */
export type ModelFileList =
  ArrayLike<FileLike> | Iterable<FileLike> | { readonly [name: string]: BlobLike | Uint8Array };

/** A file that is read in pieces. */
export interface Source {
  /** Bytes of the file. */
  readonly size: number;
  /** A copy of the bytes from `from` to before `to`. */
  bytes(from: number, to: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** The files of a model by name. */
export class ModelFiles {
  readonly #operation: string;
  readonly #sources: ReadonlyMap<string, Source>;

  constructor(operation: string, given: ModelFileList) {
    this.#operation = operation;
    const entries = guarded(operation, "files", () => entriesOf(operation, given));
    const byDepth = entries.map(([path, file]) => ({ folders: path.split("/"), file }));
    byDepth.sort((a, b) => b.folders.length - a.folders.length); // the file nearest to the top is set last
    this.#sources = new Map(
      byDepth.map(({ folders, file }) => {
        const name = folders.at(-1)!;
        return [name, guarded(operation, `files[${describe(name)}]`, () => sourceOf(operation, name, file))];
      }),
    );
  }

  get names(): string[] {
    return [...this.#sources.keys()];
  }

  has(name: string): boolean {
    return this.#sources.has(name);
  }

  /** @throws OptionError if there is no file of this name. */
  source(name: string): Source {
    const source = this.#sources.get(name);
    if (source) return source;
    throw new OptionError(
      `${this.#operation}: files must have ${name}, got ${this.names.length ? this.names.join(", ") : "no files"}`,
    );
  }

  /**
   * The object in a file of JSON.
   *
   * @throws OptionError if there is no such file; with code `"CORRUPT_DATA"` if it holds no object.
   */
  async json(name: string): Promise<Readonly<Record<string, unknown>>> {
    const source = this.source(name);
    const bytes = await source.bytes(0, source.size);
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      // as undefined
    }
    if (isObject(value) && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
    throw new OptionError(`${this.#operation}: ${name} is no JSON object, or is damaged`, { code: "CORRUPT_DATA" });
  }
}

/** Each file with its path. */
function entriesOf(operation: string, given: unknown): [string, unknown][] {
  if (!isObject(given) || arrayKind(given) || isBlob(given))
    throw new OptionError(
      `${operation}: files must be an array of File, a FileList, or an object of Blob or Uint8Array by name, ` +
        `got ${describe(given)}`,
    );
  const isList = Symbol.iterator in given || typeof (given as { length?: unknown }).length === "number";
  if (!isList) return Object.entries(given);
  return Array.from(given as ArrayLike<unknown>, (file, n) => {
    const { name, webkitRelativePath } = (isObject(file) ? file : {}) as Partial<FileLike>;
    if (typeof name === "string") return [webkitRelativePath || name, file];
    throw new OptionError(`${operation}: files[${n}] must be a File with a name, got ${describe(file)}`);
  });
}

function sourceOf(operation: string, name: string, file: unknown): Source {
  if (isBlob(file))
    return {
      size: file.size,
      bytes: async (from, to) => new Uint8Array(await file.slice(from, to).arrayBuffer()),
    };
  if (arrayKind(file) === "Uint8Array") {
    const argument = `files[${describe(name)}]`;
    assertIntactNow(operation, argument, file as object);
    const bytes = viewOf(file as object) as Uint8Array;
    return {
      size: bytes.length,
      bytes: (from, to) =>
        new Promise((resolve) => {
          assertIntact(operation, argument, file as object);
          resolve(new Uint8Array(bytes.subarray(from, to)));
        }),
    };
  }
  throw new OptionError(`${operation}: files[${describe(name)}] must be a Blob or a Uint8Array, got ${describe(file)}`);
}

function isBlob(value: unknown): value is BlobLike {
  if (!isObject(value)) return false;
  const { size, slice } = value as Partial<Record<keyof BlobLike, unknown>>;
  return typeof size === "number" && typeof slice === "function";
}
