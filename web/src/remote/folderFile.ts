import { describe } from "../base/describe.js";
import { OptionError, type ErrorDetails } from "../base/errors.js";
import { sliceOf } from "./byteRange.js";
import type { NodeFs, OpenFile } from "./nodeFs.js";

/** A file of this machine. `slice` and `size` are those of a `Blob`. */
export class FolderFile {
  readonly #fs: NodeFs;
  readonly #path: string;
  /** Calls of `fill` that have not ended. The file is open as long as there are any. */
  #readers = 0;
  #opening: Promise<OpenFile> | undefined;
  /** Bytes of the file. */
  readonly size: number;

  constructor(fs: NodeFs, path: string, size: number) {
    this.#fs = fs;
    this.#path = path;
    this.size = size;
  }

  /** Bytes `from` to before `to`, as the method of `Blob`. */
  slice(from?: number, to?: number): { arrayBuffer(): Promise<ArrayBuffer> } {
    return sliceOf(this, from, to);
  }

  /** All bytes. */
  arrayBuffer(): Promise<ArrayBuffer> {
    return this.slice().arrayBuffer();
  }

  /**
   * Fills `bytes` with those of the file from `from` on. An array that is filled again and again costs nothing more; the
   * system needs long to make the memory of a new one.
   *
   * @throws OptionError if the file is not there any more, or is shorter than it was.
   */
  async fill(bytes: Uint8Array<ArrayBuffer>, from: number): Promise<void> {
    this.#readers++;
    this.#opening ??= this.#fs.promises.open(this.#path, "r");
    let count: number;
    try {
      count = await fillFrom(await this.#opening, bytes, from);
    } catch (cause) {
      const { code = "UNKNOWN" } = cause as { readonly code?: string };
      throw this.#error(`could not be read: ${code}`, { cause });
    } finally {
      if (--this.#readers === 0) await this.#close();
    }
    if (count < bytes.length) throw this.#error("has become shorter since it was opened", { code: "CORRUPT_DATA" });
  }

  #error(rule: string, details: ErrorDetails): OptionError {
    return new OptionError(`openModel: ${describe(this.#path)} ${rule}`, details);
  }

  async #close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    const file = await opening?.catch(() => undefined); // its readers have seen the error
    await file?.close();
  }
}

/** @returns how many bytes were there */
async function fillFrom(file: OpenFile, bytes: Uint8Array, from: number): Promise<number> {
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, from + at);
    if (bytesRead === 0) return at;
    at += bytesRead;
  }
  return bytes.length;
}
