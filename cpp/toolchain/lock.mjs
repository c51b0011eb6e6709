// One process at a time. Others wait. A lock whose owner has ended is taken over.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (!ownerLives(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function ownerLives(lock) {
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0);
    return true;
  } catch (error) {
    return error.code === "EPERM"; // alive, and another user's
  }
}
