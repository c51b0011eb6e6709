import { describe, isObject, tagOf } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { assertIntact, assertIntactNow } from "../base/intact.js";
import { thrownText } from "../base/thrown.js";
import { arrayKind, viewOf } from "../base/typedArray.js";
import type { ByteRange } from "../remote/byteRange.js";
import { FolderFile } from "../remote/folderFile.js";
import { RemoteFile } from "../remote/remoteFile.js";
import { parsed, parsedObject } from "./jsonText.js";
import { modelFolder } from "./modelFolder.js";

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
 * `Blob`s or `Uint8Array`s by name. Names may be paths. All files of a model come from one folder.
 */
export type ModelFileList =
  | ArrayLike<FileLike>
  | Iterable<FileLike>
  | { readonly [name: string]: BlobLike | Uint8Array };

/** A file that is read in pieces. */
export interface Source {
  /** Bytes of the file. */
  readonly size: number;
  /** A copy of the bytes from `from` to before `to`. */
  bytes(from: number, to: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Fills `bytes` with those from `from` on; undefined where bytes always come in an array of their own. */
  readonly fill?: ((bytes: Uint8Array<ArrayBuffer>, from: number) => Promise<void>) | undefined;
}

/** Which of the files belong to a model. */
export interface FolderChoice {
  /** The file that tells the folder: config.json. */
  readonly anchor: string;
  /** The folder, if the caller names it. */
  readonly folder?: string | undefined;
}

/** A pointer file of Git LFS has at most this many bytes. */
const LONGEST_POINTER = 1024;
const POINTER = "version https://git-lfs";

/** The files of a model by name, which all lie in one folder. */
export class ModelFiles {
  readonly #operation: string;
  readonly #sources: ReadonlyMap<string, Source>;
  /** How many files have each name: a list may have several of one name. */
  readonly #counts = new Map<string, number>();
  /** The folder; "" if the files have names only. */
  readonly folder: string;

  constructor(operation: string, given: ModelFileList, { anchor, folder }: FolderChoice) {
    this.#operation = operation;
    const entries = guarded(operation, "files", () => entriesOf(operation, given));
    const paths = entries.map(([path]) => path);
    this.folder = modelFolder(operation, paths, anchor, folder);
    const start = this.folder && `${this.folder}/`;
    const sources = entries
      .filter(([path]) => path.startsWith(start))
      .map(([path, file]): [string, Source] => [
        path.slice(start.length),
        guarded(operation, `files[${describe(path)}]`, () => sourceOf(operation, path, file)),
      ]);
    this.#sources = new Map(sources);
    for (const [name] of sources) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  get names(): string[] {
    return [...this.#sources.keys()];
  }

  has(name: string): boolean {
    return this.#sources.has(name);
  }

  /**
   * A file, for reading.
   *
   * @throws OptionError if there is no file of this name, or several; with code `"CORRUPT_DATA"` if it is a pointer of Git LFS.
   */
  async source(name: string): Promise<Source> {
    const source = this.#sources.get(name);
    if (!source) throw new OptionError(`${this.#operation}: files must have ${name}, got ${this.listed}`);
    const count = this.#counts.get(name)!;
    if (count > 1)
      throw new OptionError(`${this.#operation}: files must have ${name} once, got ${count} files of this name`, {
        hint: "Give the files of one model. Files that were dropped on a page may have lost their folders.",
      });
    if (source.size <= LONGEST_POINTER && (await textOf(source)).startsWith(POINTER))
      throw new OptionError(
        `${this.#operation}: ${name} is a pointer of Git LFS, ${source.size} bytes that only name the real file`,
        { code: "CORRUPT_DATA", hint: "Run `git lfs pull` in the folder, or download the file itself." },
      );
    return source;
  }

  /**
   * The text in a file.
   *
   * @throws OptionError if there is no such file.
   */
  async text(name: string): Promise<string> {
    return textOf(await this.source(name));
  }

  /**
   * The object in a file of JSON.
   *
   * @throws OptionError if there is no such file; with code `"CORRUPT_DATA"` if it holds no object.
   */
  async json(name: string): Promise<Readonly<Record<string, unknown>>> {
    const object = parsedObject(await this.text(name));
    if (object) return object;
    throw new OptionError(`${this.#operation}: ${name} is no JSON object, or is damaged`, { code: "CORRUPT_DATA" });
  }

  /**
   * The list in a file of JSON.
   *
   * @throws OptionError if there is no such file; with code `"CORRUPT_DATA"` if it holds no list.
   */
  async list(name: string): Promise<readonly unknown[]> {
    const list: unknown = parsed(await this.text(name));
    if (Array.isArray(list)) return list as unknown[];
    throw new OptionError(`${this.#operation}: ${name} is no JSON list, or is damaged`, { code: "CORRUPT_DATA" });
  }

  /** The names, for messages. */
  get listed(): string {
    const { names } = this;
    const shown = names.slice(0, MOST_NAMES).join(", ");
    if (names.length === 0) return "no files";
    return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
  }
}

/** A message lists at most this many names. */
const MOST_NAMES = 20;

async function textOf(source: Source): Promise<string> {
  return new TextDecoder().decode(await source.bytes(0, source.size));
}

const READ_FIRST =
  "`await openModel(address)` gives the files at an address, in Node also those of a folder; `hub(name)` makes the address of " +
  "a model on a hub. In a page the user may choose the files.";

/** Each file with its path. */
function entriesOf(operation: string, given: unknown): [string, unknown][] {
  if (!isObject(given) || arrayKind(given) || isBlob(given) || tagOf(given) === "URL")
    throw new OptionError(
      `${operation}: files must be an array of File, a FileList, or an object of Blob or Uint8Array by name, ` +
        `got ${describe(given)}`,
      { hint: READ_FIRST },
    );
  const isList = Symbol.iterator in given || typeof (given as { length?: unknown }).length === "number";
  if (!isList) return Object.entries(given);
  return Array.from(given as ArrayLike<unknown>, (file, n) => {
    const { name, webkitRelativePath } = (isObject(file) ? file : {}) as Partial<FileLike>;
    if (typeof name === "string") return [webkitRelativePath || name, file];
    throw new OptionError(`${operation}: files[${n}] must be a File with a name, got ${describe(file)}`, {
      hint: READ_FIRST,
    });
  });
}

function sourceOf(operation: string, name: string, file: unknown): Source {
  if (isBlob(file))
    return {
      size: file.size,
      bytes: (from, to) => bytesOf(operation, name, file, { from, to }),
      fill: isOpened(file) ? (bytes, from) => file.fill(bytes, from) : undefined,
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
  throw new OptionError(
    `${operation}: files[${describe(name)}] must be a Blob or a Uint8Array, got ${describe(file)}`,
    {
      hint: READ_FIRST,
    },
  );
}

/** Bytes of a Blob. A File that was changed or removed after it was chosen rejects, or gives fewer. */
async function bytesOf(operation: string, name: string, file: BlobLike, { from, to }: ByteRange) {
  const argument = `${operation}: files[${describe(name)}]`;
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = new Uint8Array(await file.slice(from, to).arrayBuffer());
  } catch (cause) {
    if (isOpened(file)) throw cause; // its errors name the address
    throw new OptionError(`${argument} could not be read: ${thrownText(cause)}`, { cause });
  }
  if (bytes.length === to - from) return bytes;
  throw new OptionError(`${argument} must give the ${to - from} bytes from ${from} on, got ${bytes.length} bytes`, {
    code: "CORRUPT_DATA",
  });
}

/** Whether `openModel` has opened the file. */
const isOpened = (file: BlobLike): file is FolderFile | RemoteFile =>
  file instanceof FolderFile || file instanceof RemoteFile;

function isBlob(value: unknown): value is BlobLike {
  if (!isObject(value)) return false;
  const { size, slice } = value as Partial<Record<keyof BlobLike, unknown>>;
  return typeof size === "number" && typeof slice === "function";
}
