import type { Kernel } from "./kernel.js";
import { divideUp } from "./limits.js";

/** The tile of a projection. */
const PROJECT = { THREADS_X: 8, THREADS_Y: 8, COLUMNS4: 2, DEPTH4: 4 } as const;
const PROJECT_ROWS = 4 * PROJECT.THREADS_Y;
const PROJECT_COLUMNS = 4 * PROJECT.COLUMNS4 * PROJECT.THREADS_X;
export const projectKernel: Kernel = { name: "project", constants: PROJECT };

export function projectWorkgroups(rows: number, columns: number): number {
  return divideUp(rows, PROJECT_ROWS) * divideUp(columns, PROJECT_COLUMNS);
}
