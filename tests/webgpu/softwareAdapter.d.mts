export default function nameSoftwareAdapter(): void;
export function dawnFlags(...disabled: string[]): string[];
export const CHROMIUM_FLAG: string;
