import type * as placed from "./placed.js";

/** How backend `"auto"` places layers and caches. */
export type Placing = typeof placed;
