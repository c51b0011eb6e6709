import type { LaunchOptions } from "playwright-core";

export const CHROMIUM: LaunchOptions & { readonly args: string[] };
export const COMPLETE_CHROMIUM: typeof CHROMIUM;
