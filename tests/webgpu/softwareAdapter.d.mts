export default function nameSoftwareAdapter(): void;
export function dawnFlags(): string[];
export const CHROMIUM_FLAG: string;
