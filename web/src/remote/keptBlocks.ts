/** The blocks of one version of a file. Its promises may reject: then reading goes on without. */
export interface KeptFile {
  /** The bytes of block `n`, if they are kept. */
  block(n: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  keep(n: number, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** Where blocks of files stay for the next visit. */
export interface KeptBlocks {
  /** The file at an address; undefined if nothing can be kept. Blocks of its other versions are deleted. */
  file(address: string, version: string): Promise<KeptFile | undefined>;
}
