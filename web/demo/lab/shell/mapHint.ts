import { t } from "../../texts/t.js";

/** What a map says as long as no cell is chosen. */
export const MAP_HINT = t`Point at a cell, tap it, or use the arrow keys. Click or Enter locks it.`;
