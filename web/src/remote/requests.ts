import { NetworkError } from "../base/errors.js";
import { beforeAbort, onAbort, throwIfAborted } from "../read/abort.js";
import { rangeHeader, sentRange, type ByteRange } from "./byteRange.js";

/** How files are asked for. */
export interface Asking {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

/** What came of a file. */
export interface Sent {
  /** The bytes that were asked for, in order and in pieces as they have come, as far as the file has them; all of the file if `isWhole`. */
  readonly chunks: readonly Uint8Array<ArrayBuffer>[];
  readonly isWhole: boolean;
  /** Bytes of the file; undefined if the answer does not tell. */
  readonly size: number | undefined;
  /** What changes if the file changes: its ETag, or its date; "" if the server tells neither. */
  readonly version: string;
}

/** A request that brought nothing new so many times in a row has failed. */
const MOST_TRIES = 5;
const FIRST_PAUSE = 250; // milliseconds; it doubles
/** A connection that sends nothing for so long is given up. */
const SILENCE = 30_000;
/** The server is busy, or does not work at the moment. */
const PASSING = [408, 425, 429, 500, 502, 503, 504];
const REFUSED = [401, 403];
const ABSENT = [404, 410];
const NO_SUCH_RANGE = 416;

/** A fault that may be gone at the next try. */
class PassingFault extends Error {}

/** The requests of one call, and of what reads its files later. */
export class Requests {
  readonly #operation: string;
  readonly #asking: Asking;

  constructor(operation: string, asking: Asking) {
    this.#operation = operation;
    this.#asking = asking;
  }

  /**
   * Asks for a part of a file. If the connection breaks, it goes on where it has stopped.
   *
   * @param onBytes - Called with the number of bytes, whenever some have come.
   * @returns undefined if there is no such file.
   * @throws NetworkError if the server refuses or cannot be reached, and the reason of the signal.
   */
  async part(address: string, asked: ByteRange, onBytes: (count: number) => void): Promise<Sent | undefined> {
    const reading = new Reading(asked, onBytes);
    for (let tries = 1; ; ++tries) {
      const before = reading.count;
      try {
        return await this.#once(address, reading);
      } catch (cause) {
        throwIfAborted(this.#asking.signal);
        if (!(cause instanceof PassingFault)) throw cause;
        if (reading.count > before) tries = 1;
        if (tries >= MOST_TRIES) throw this.#unreachable(address, cause);
        await this.#pause(FIRST_PAUSE * 2 ** (tries - 1));
      }
    }
  }

  async #once(address: string, reading: Reading): Promise<Sent | undefined> {
    const { headers, signal } = this.#asking;
    throwIfAborted(signal);
    const connection = new AbortController();
    const forget = signal && onAbort(signal, (reason) => connection.abort(reason));
    const watch = new Watch(() => connection.abort());
    try {
      const response = await passing(
        fetch(address, {
          headers: { ...headers, Range: rangeHeader(reading.rest) },
          cache: "no-store", // a browser would let the requests of a file wait for each other, and keep it twice
          signal: connection.signal,
        }),
      );
      watch.heard();
      const { status } = response;
      if (ABSENT.includes(status)) return undefined;
      if (PASSING.includes(status)) throw new PassingFault(`the server answers with status ${status}`);
      if (status === NO_SUCH_RANGE && reading.count === 0) return reading.nothing(response);
      if (status !== 200 && status !== 206) throw this.#refused(address, status);
      await reading.read(response, watch);
      return reading.sent(response);
    } catch (error) {
      if (error instanceof ChangedFile) throw this.#changed(address);
      throw error;
    } finally {
      watch.end();
      forget?.();
      connection.abort(); // a body that is not read would keep its connection
    }
  }

  /**
   * Bytes of a file whose part did not tell them: a page sees `Content-Range` only if the server allows it.
   *
   * @throws NetworkError if the server does not tell them now either, and the reason of the signal.
   */
  async sizeOf(address: string): Promise<number> {
    const { headers, signal } = this.#asking;
    const connection = new AbortController();
    const watch = new Watch(() => connection.abort());
    const asked = fetch(address, { method: "HEAD", headers, cache: "no-store", signal: connection.signal });
    const whole = await beforeAbort(asked, signal)
      .catch(() => throwIfAborted(signal))
      .finally(() => watch.end());
    const size = Number(whole?.headers.get("content-length") ?? Number.NaN);
    if (whole?.ok && Number.isInteger(size)) return size;
    throw new NetworkError(`${this.#operation}: ${address}: the server does not tell how large the file is`, {
      hint: "It must send Content-Range, and to pages of other origins also Access-Control-Expose-Headers: Content-Range.",
    });
  }

  #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#asking;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        forget?.();
        resolve();
      }, milliseconds);
      const forget = signal && onAbort(signal, (reason) => (clearTimeout(timer), reject(reason)));
    });
  }

  #refused(address: string, status: number): NetworkError {
    const asksWho = REFUSED.includes(status);
    return new NetworkError(
      `${this.#operation}: ${address}: the server ${asksWho ? "refuses the file" : "answers"} (status ${status})`,
      {
        hint: asksWho
          ? 'The name may be wrong, or the file may need an account: give headers, such as { authorization: "Bearer …" }.'
          : undefined,
        status,
      },
    );
  }

  #unreachable(address: string, cause: Error): NetworkError {
    return new NetworkError(`${this.#operation}: ${address}: ${cause.message}, also after ${MOST_TRIES} tries`, {
      hint:
        "Look at the network and the address. In a page the server must allow other origins (Access-Control-Allow-Origin), " +
        "and the page's policy must allow it in connect-src. Blocks that have come are kept: call again to go on.",
      cause,
    });
  }

  #changed(address: string): NetworkError {
    return new NetworkError(`${this.#operation}: ${address}: the file has changed while it was read`, {
      hint: "Call again. A commit as revision always names the same files.",
    });
  }
}

/** `fetch` rejects with a TypeError if the server cannot be reached, or if a policy forbids it. */
async function passing<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (cause) {
    throw new PassingFault("the server could not be reached", { cause });
  }
}

class ChangedFile extends Error {}

const WHOLE: ByteRange = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** The bytes of a part, over several connections. */
class Reading {
  readonly #asked: ByteRange;
  readonly #onBytes: (count: number) => void;
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #count = 0;
  #version: string | undefined;
  #isWhole = false;

  constructor(asked: ByteRange, onBytes: (count: number) => void) {
    this.#asked = asked;
    this.#onBytes = onBytes;
  }

  /** The number of bytes that have come. */
  get count(): number {
    return this.#count;
  }

  /** What has to come still. A server without ranges sends the whole file. */
  get rest(): ByteRange {
    const { from, to } = this.#isWhole ? WHOLE : this.#asked;
    return { from: from + this.#count, to };
  }

  async read(response: Response, watch: Watch): Promise<void> {
    const version = versionOf(response);
    if (this.#version !== undefined && version !== this.#version) throw new ChangedFile();
    this.#version = version;
    if (response.status === 200) this.#startAgain(); // the server sends the whole file
    const end = endOf(response, this.rest);
    const reader = response.body!.getReader();
    for (;;) {
      const { done, value } = await passing(reader.read());
      if (done) break;
      watch.heard();
      this.#chunks.push(value);
      this.#count += value.length;
      this.#onBytes(value.length);
    }
    if (end !== undefined && this.rest.from < end) throw new PassingFault("the server sent only a part of the bytes");
  }

  /** What has come, the last of it with `response`. */
  sent({ status, headers }: Response): Sent {
    const size = status === 200 ? this.#count : sentRange(headers.get("content-range"))?.size;
    return { chunks: this.#chunks, isWhole: this.#isWhole, size, version: this.#version ?? "" };
  }

  /** An empty file has no bytes to ask for. */
  nothing(response: Response): Sent {
    return { chunks: [], isWhole: true, size: 0, version: versionOf(response) };
  }

  #startAgain(): void {
    this.#isWhole = true;
    this.#onBytes(-this.#count);
    this.#chunks = [];
    this.#count = 0;
  }
}

/** Where the bytes of `rest` end: a server may send fewer at once. undefined if the answer does not say so. */
function endOf({ status, headers }: Response, rest: ByteRange): number | undefined {
  const range = sentRange(headers.get("content-range"));
  if (status === 206 && range) {
    if (range.from !== rest.from) throw new PassingFault("the server sent another part");
    return Math.min(rest.to, range.size);
  }
  const length = headers.get("content-encoding") === null ? headers.get("content-length") : null;
  return length === null ? undefined : rest.from + Number(length);
}

const versionOf = ({ headers }: Response): string =>
  (headers.get("etag") ?? headers.get("last-modified") ?? "").replace(/^W\//, "");

/** Calls `onSilence` if nothing is heard for too long. */
class Watch {
  readonly #onSilence: () => void;
  #timer: ReturnType<typeof setTimeout>;

  constructor(onSilence: () => void) {
    this.#onSilence = onSilence;
    this.#timer = setTimeout(onSilence, SILENCE);
  }

  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onSilence, SILENCE);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
