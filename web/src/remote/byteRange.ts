/** The bytes of a file from `from` to before `to`. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** A file of which any bytes can be read. */
interface Readable {
  /** Bytes of the file. */
  readonly size: number;
  fill(bytes: Uint8Array<ArrayBuffer>, from: number): Promise<void>;
}

/** The bytes that `slice(from, to)` of a `Blob` names: numbers below 0 count from its end. */
export function sliceOf(file: Readable, from = 0, to = file.size): { arrayBuffer(): Promise<ArrayBuffer> } {
  const { size } = file;
  const [first, last] = [from, to].map((at) => Math.min(Math.max(Math.trunc(at < 0 ? size + at : at), 0), size));
  return {
    async arrayBuffer() {
      const bytes = new Uint8Array(Math.max(last! - first!, 0));
      await file.fill(bytes, first!);
      return bytes.buffer;
    },
  };
}

/** What a server says of the bytes that it sends: `Content-Range: bytes 0-9/100`. */
export interface SentRange extends ByteRange {
  /** Bytes of the whole file. */
  readonly size: number;
}

/** Reads `Content-Range`; undefined if it is absent, or does not tell the size. */
export function sentRange(header: string | null): SentRange | undefined {
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header ?? "") ?? [];
  return size === undefined ? undefined : { from: Number(first), to: Number(last) + 1, size: Number(size) };
}

export const rangeHeader = ({ from, to }: ByteRange): string => `bytes=${from}-${to - 1}`;
