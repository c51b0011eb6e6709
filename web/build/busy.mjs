// Makes the machine busy: one process for each core computes for nothing.

import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

/**
 * The program of such a process. It runs as long as its parent has the given id, so it also ends if the parent is
 * killed.
 */
const BURN = "const parent = Number(process.argv[1]); while (process.ppid === parent);";

/** Makes every core busy until this process ends, in any way. */
export function burnAllCores() {
  for (let core = 0; core < availableParallelism(); ++core) {
    const burner = spawn(process.execPath, ["-e", BURN, String(process.pid)], { stdio: ["ignore", 2, 2] });
    burner.unref();
    process.on("exit", () => burner.kill("SIGKILL"));
  }
}
