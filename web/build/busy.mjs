// Makes the machine busy: a process for each core that only burns.

import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

/** Burns for as long as the process whose id is given is its parent: so it also ends when that is killed. */
const BURN = "const parent = Number(process.argv[1]); while (process.ppid === parent);";

/** Burns on every core until this process ends, however it ends. */
export function burnAllCores() {
  for (let core = 0; core < availableParallelism(); ++core) {
    const burner = spawn(process.execPath, ["-e", BURN, String(process.pid)], { stdio: ["ignore", 2, 2] });
    burner.unref();
    process.on("exit", () => burner.kill("SIGKILL"));
  }
}
