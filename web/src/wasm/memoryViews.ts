/** Views of the engine's whole memory. They are valid until the memory grows. */
export class MemoryViews {
  readonly bytes: Uint8Array<ArrayBufferLike>;
  readonly words: Uint32Array<ArrayBufferLike>;
  readonly floats: Float32Array<ArrayBufferLike>;
  readonly doubles: Float64Array<ArrayBufferLike>;

  constructor(readonly buffer: ArrayBufferLike) {
    this.bytes = new Uint8Array(buffer);
    this.words = new Uint32Array(buffer);
    this.floats = new Float32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }
}
