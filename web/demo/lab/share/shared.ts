import type { Film } from "./film.js";

/** What can be shared of a room. */
export interface Shared {
  readonly room: { readonly id: string; readonly title: string };
  readonly stage: HTMLElement;
  /** The settings that the room has now, as its address has them. */
  readonly settings: () => string;
  readonly film: () => Film | undefined;
  readonly fail: (error: unknown) => void;
}
