/** The bytes that gzip has compressed; other bytes are given back as they are, as a server may have unpacked them. */
export async function unzipped(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isZipped) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
