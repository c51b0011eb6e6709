import { NetworkError } from "../base/errors.js";
import { sliceOf } from "./byteRange.js";
import type { KeptBlocks, KeptFile } from "./keptBlocks.js";
import type { Requests, Sent } from "./requests.js";

/** How far the reading of a file has come. */
export interface OpenProgress {
  /** The name of the file in its folder. */
  readonly file: string;
  /** Bytes of it that have come from the network, or from the cache. */
  readonly loadedBytes: number;
  /** Bytes of the file; undefined until the server has said it. */
  readonly totalBytes: number | undefined;
}

/** What the files of an address share. */
export interface Remote {
  readonly operation: string;
  readonly requests: Requests;
  readonly kept: KeptBlocks | undefined;
  readonly onProgress: ((progress: OpenProgress) => void) | undefined;
}

/** The first request reads so much: all of a configuration, or the header of weights. */
const HEAD = 2 ** 16;
/** Later ones read whole blocks, which are kept. */
const BLOCK = 2 ** 22;
/** So many blocks stay in memory, because the tensors of a layer lie near each other: 32 MiB. */
const MOST_BLOCKS = 8;

/** What the first request has told of a file. */
interface Opened {
  readonly address: string;
  readonly name: string;
  /** Its first bytes; all if the server has no ranges. */
  readonly head: Blob;
  readonly version: string;
  readonly size: number;
}

/** A file at an address. It is read in blocks, when they are needed. `slice` and `size` are those of a `Blob`. */
export class RemoteFile {
  readonly #remote: Remote;
  readonly #opened: Opened;
  readonly #kept: KeptFile | undefined;
  readonly #blocks = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();
  #loadedBytes = 0;
  /** Bytes of the file. */
  readonly size: number;

  private constructor(remote: Remote, opened: Opened, kept: KeptFile | undefined) {
    this.#remote = remote;
    this.#opened = opened;
    this.#kept = kept;
    this.size = opened.size;
  }

  /** The file of this name at `address`; undefined if there is none. */
  static async open(remote: Remote, address: string, name: string): Promise<RemoteFile | undefined> {
    let loadedBytes = 0;
    const sent = await remote.requests.part(address, { from: 0, to: HEAD }, (count) => {
      loadedBytes += count;
      remote.onProgress?.({ file: name, loadedBytes, totalBytes: undefined });
    });
    if (!sent) return undefined;
    const size = sent.size ?? (await remote.requests.sizeOf(address));
    const head = blobOf(sent);
    const isSmall = sent.isWhole || head.size === size;
    const kept = isSmall ? undefined : await remote.kept?.file(address, `${sent.version}/${size}`);
    return new RemoteFile(remote, { address, name, head, version: sent.version, size }, kept);
  }

  /** Bytes `from` to before `to`, as the method of `Blob`. */
  slice(from?: number, to?: number): { arrayBuffer(): Promise<ArrayBuffer> } {
    return sliceOf(this, from, to);
  }

  /** All bytes. */
  arrayBuffer(): Promise<ArrayBuffer> {
    return this.slice().arrayBuffer();
  }

  /** Fills `bytes` with those of the file from `from` on. */
  async fill(bytes: Uint8Array<ArrayBuffer>, from: number): Promise<void> {
    const { head } = this.#opened;
    const to = from + bytes.length;
    if (to <= head.size) return bytes.set(new Uint8Array(await head.slice(from, to).arrayBuffer()));
    for (let n = Math.floor(from / BLOCK); n * BLOCK < to; ++n) {
      const block = await this.#block(n);
      const [start, end] = [Math.max(from, n * BLOCK), Math.min(to, n * BLOCK + block.length)];
      bytes.set(block.subarray(start - n * BLOCK, end - n * BLOCK), start - from);
    }
  }

  /** Block `n`. The next one is asked for meanwhile. */
  #block(n: number): Promise<Uint8Array<ArrayBuffer>> {
    const block = this.#asked(n);
    if ((n + 1) * BLOCK < this.size) this.#asked(n + 1).catch(() => undefined); // its reader will see the error
    return block;
  }

  #asked(n: number): Promise<Uint8Array<ArrayBuffer>> {
    const block = this.#blocks.get(n) ?? this.#fetched(n);
    if (!this.#blocks.delete(n)) block.catch(() => this.#blocks.delete(n)); // the next reader tries again
    this.#blocks.set(n, block); // now the newest
    for (const old of this.#blocks.keys()) {
      if (this.#blocks.size <= MOST_BLOCKS) break;
      this.#blocks.delete(old);
    }
    return block;
  }

  async #fetched(n: number): Promise<Uint8Array<ArrayBuffer>> {
    const length = Math.min(BLOCK, this.size - n * BLOCK);
    const kept = await attempt(() => this.#kept?.block(n));
    if (kept?.length === length) {
      this.#report(length);
      return kept;
    }
    const range = { from: n * BLOCK, to: n * BLOCK + length };
    const { address, version } = this.#opened;
    const sent = await this.#remote.requests.part(address, range, (count) => this.#report(count));
    if (!sent || (sent.size ?? this.size) !== this.size || sent.version !== version)
      throw new NetworkError(`${this.#remote.operation}: ${address}: the file has changed since it was opened`, {
        hint: `Call ${this.#remote.operation} again. A commit as revision always names the same files.`,
      });
    const bytes = await bytesOf(sent, range);
    if (bytes.length < length)
      throw new NetworkError(
        `${this.#remote.operation}: ${address}: the server has sent ${bytes.length} of the ${length} bytes from byte ` +
          `${range.from} on`,
        {
          hint: "Let it send all bytes of a range, or Content-Range; to other origins with Access-Control-Expose-Headers.",
        },
      );
    await attempt(() => this.#kept?.keep(n, bytes));
    return bytes;
  }

  #report(count: number): void {
    this.#loadedBytes += count;
    this.#remote.onProgress?.({ file: this.#opened.name, loadedBytes: this.#loadedBytes, totalBytes: this.size });
  }
}

/** What is kept is only a help: where it is refused, or there is no more room, reading goes on without. */
async function attempt<T>(use: () => Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await use();
  } catch {
    return undefined;
  }
}

/** A Blob may lie on the disk, but its bytes have to be copied once more. */
const blobOf = ({ chunks }: Sent) => new Blob([...chunks]);

/** A server that has sent ranges may send the whole file later. */
async function bytesOf(sent: Sent, { from, to }: { from: number; to: number }): Promise<Uint8Array<ArrayBuffer>> {
  if (sent.isWhole) return new Uint8Array(await blobOf(sent).slice(from, to).arrayBuffer());
  const bytes = new Uint8Array(sent.chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of sent.chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
