import type { ProofRecord } from "./core.mjs";

export function documentOf(records: readonly ProofRecord[]): object;
export function isRight(record: ProofRecord): boolean;
