import type { ProofRecord } from "../proof/core.mjs";

export interface About {
  readonly date: string;
  readonly command: string;
  readonly headwise: { readonly version: string; readonly commit?: string };
  /** A peer as an engine of the file. */
  engineOf(peer: string): object;
}

export function fromProof(records: readonly ProofRecord[], about: About): object;
