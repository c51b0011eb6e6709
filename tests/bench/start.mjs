// node tests/bench/start.mjs: what a newcomer waits for. Clones this repository into an empty folder, runs `npm start` there
// until the page is served, runs it again, and prints the seconds of each step.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

import { root } from "../../web/build/paths.mjs";
import { settingsOf } from "../../web/build/usage.mjs";

const USAGE = `node tests/bench/start.mjs [options]
  --kept      with the toolchain and npm's cache of this machine; otherwise both come from nothing, into an empty folder
  --page      also until the lab is served
  --help      this text
What is not committed is not in the clone.`;

/** The first line of the picture. */
const PICTURE = /^“/;
const SERVED = /in your browser/;

await measure(settingsOf(USAGE));

async function measure({ kept, page }) {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-start-"));
  const clone = path.join(folder, "clone");
  const fromNothing = {
    HEADWISE_TOOLCHAIN_DIR: path.join(folder, "toolchain"),
    npm_config_cache: path.join(folder, "npm"),
  };
  const env = { ...process.env, ...(kept ? {} : fromNothing) };
  try {
    spawnSync("git", ["clone", "--quiet", root, clone], { stdio: "inherit" });
    console.log(`first start, toolchain and npm's cache ${kept ? "kept" : "from nothing"}`);
    await run(clone, env, page);
    console.log("second start");
    await run(clone, env, false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `npm start` and prints when each of its lines came: of its progress all, of the picture the first. */
async function run(folder, env, page) {
  const begin = performance.now();
  const print = (what) => console.log(`${((performance.now() - begin) / 1000).toFixed(1).padStart(8)} s  ${what}`);
  const args = page ? ["start", "--", "--port", "0"] : ["start", "--", "--no-serve"];
  const child = spawn("npm", args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  createInterface(child.stderr).on("line", print);
  let isShown = false;
  createInterface(child.stdout).on("line", (line) => {
    if (!isShown && PICTURE.test(line)) print("THE FIRST LINE OF THE PICTURE");
    isShown ||= PICTURE.test(line);
    if (!SERVED.test(line)) return;
    print("THE LAB IS SERVED");
    process.kill(-child.pid); // npm and what it started
  });
  await new Promise((resolve) => child.on("close", resolve));
  print("ended");
}
