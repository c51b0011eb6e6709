/** The bytes of a file from `from` to before `to`. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
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
