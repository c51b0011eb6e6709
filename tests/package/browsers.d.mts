export interface Opener {
  /** Files without which the browser cannot be opened. */
  readonly needs: readonly string[];
  /** Opens a page and waits for the global variable `outcome`, which must be JSON. */
  open(url: string): Promise<{ readonly version: string; readonly outcome: unknown }>;
}

export const firefox: Opener;
export const webkit: Opener;
export const LAVAPIPE: string;
export const SOFTWARE_VULKAN: string | undefined;
