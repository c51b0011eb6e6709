import type { ProofProgress, ProofRecord } from "../../../../tests/bench/proof/core.mjs";

/** What the page says to the worker of the proof: begin, then perhaps to end after the case that runs. */
export type ProofRequest =
  | { readonly kind: "begin"; readonly quick: boolean; readonly seconds: number; readonly name: string }
  | { readonly kind: "cancel" };

/** What the worker answers. */
export type ProofReply =
  | { readonly kind: "progress"; readonly progress: ProofProgress }
  | { readonly kind: "record"; readonly record: ProofRecord }
  | { readonly kind: "failed"; readonly message: string };
