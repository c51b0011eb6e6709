import type { Room } from "../shell/room.js";

/** A door: what the navigation shows before a room's code is loaded. */
export interface Door {
  readonly id: string;
  readonly title: string;
  /** What there is to see, in a sentence. */
  readonly lede: string;
  load(): Promise<{ readonly room: Room }>;
}

export const DOORS: readonly Door[] = [
  {
    id: "matrix",
    title: "Matrix",
    lede: "Attention is three products and a softmax. Change any number of a small example and follow it to the output.",
    load: () => import("./matrix/room.js"),
  },
];
