export class UsageError extends Error {}
export interface Meant {
  readonly repeated?: string;
  readonly likely?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}
export function readOptions(usage: string, args: readonly string[], more?: Meant): Record<string, unknown>;
export function wholeNumber(option: string, value: string, least: number, most?: number): number;
export function decimalNumber(option: string, value: string, least: number, most: number): number;
