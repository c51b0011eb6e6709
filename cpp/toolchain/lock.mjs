// One process at a time. Others wait. A lock whose owner has ended is taken over.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * @template T
 * @param {string} lock - the file that marks the lock
 * @param {() => void} onWait - called once, when the lock is held by another process
 * @param {() => Promise<T>} work
 */
export async function withLock(lock, onWait, work) {
  mkdirSync(path.dirname(lock), { recursive: true });
  for (let attempt = 0; !claim(lock); attempt++) {
    if (attempt === 1) onWait();
    await sleep(attempt === 0 ? 100 : 1000);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function claim(lock) {
  try {
    writeFileSync(lock, ownerOf(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (!ownerLives(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function ownerLives(lock) {
  try {
    const owner = readFileSync(lock, "utf8");
    const pid = Number.parseInt(owner || "0", 10); // empty: it is being written
    process.kill(pid, 0);
    return pid === 0 || owner === ownerOf(pid);
  } catch (error) {
    return error.code === "EPERM"; // alive, and another user's
  }
}

/**
 * A process by its number, and by when it started, where the system says that: containers number their processes alike,
 * and what a killed one has left in a folder names a process of the next one.
 */
function ownerOf(pid) {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return String(pid);
  const afterName = readFileSync(file, "utf8").replace(/^.*\) /s, ""); // a name may contain anything
  return `${pid} ${afterName.split(" ")[STARTED]}`;
}

/** Where the time of the start is among the fields of `stat` behind the name: see proc(5). */
const STARTED = 19;
