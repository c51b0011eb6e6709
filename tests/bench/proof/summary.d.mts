import type { ProofAdapter, ProofRecord, ProofVariant } from "./core.mjs";

export function summaryOf(record: ProofRecord): string[];
export function verdictOf(record: ProofRecord): string;
export function adapterName(adapter: ProofAdapter): string;
export function nameOf(variant: ProofVariant): string;
