export function quantile(values: readonly number[], part: number): number;
export function summary(values: readonly number[]): { readonly median: number; readonly spread: number };
export function geometricMean(values: readonly number[]): number;
