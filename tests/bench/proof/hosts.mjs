// The hosts of the proof: Node with the npm package webgpu, and headless Chromium. Each gives a record.

import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build as bundle } from "esbuild";

import { build } from "../../../web/build/paths.mjs";
import { nodeProgram } from "../engines.mjs";
import { CHROMIUM, openPage } from "../webgpu/chromium.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const CORE = path.join(build, "proof/core.mjs");
/** A host hangs that has not answered so long after its time: it may compile kernels in that. */
const GRACE_SECONDS = 120;

export const HOSTS = { node: proveInNode, chromium: proveInChromium };

/** Makes one module of the proof's core, which hosts load. */
export async function bundleCore() {
  await bundle({ entryPoints: [here("core.mjs")], outfile: CORE, bundle: true, format: "esm", logLevel: "warning" });
}

/**
 * Runs the proof on a host.
 *
 * @param {"node" | "chromium"} name
 * @param {{ seconds: number, quick: boolean }} options
 * @param {(progress: { what: string, done: number, total: number }) => void} report
 * @returns the record; `{ host, notRun }` if the host cannot run here, `{ host, failure }` if it ended
 */
export async function proveOn(name, options, report) {
  let timer;
  const limit = new Promise((_, reject) => {
    const hangs = () => reject(new Error(`it did not answer within ${options.seconds + GRACE_SECONDS} s`));
    timer = setTimeout(hangs, 1e3 * (options.seconds + GRACE_SECONDS));
  });
  let host;
  try {
    host = await HOSTS[name](options, report);
    return await Promise.race([host.record, limit]);
  } catch (error) {
    return { host: { name }, failure: error.message };
  } finally {
    clearTimeout(timer);
    await host?.close();
  }
}

async function proveInNode(options, report) {
  const { program, flags } = await nodeProgram();
  const core = pathToFileURL(CORE).href;
  const child = fork(here("node.mjs"), [core, JSON.stringify(options)], { execPath: program, execArgv: flags });
  const record = new Promise((resolve, reject) => {
    child.on("message", ({ progress, record: whole }) => (whole ? resolve(whole) : report(progress)));
    child.on("error", reject);
    child.on("exit", (code, signal) => reject(new Error(`Node ended with ${code ?? signal}`)));
  });
  return { record, close: () => child.kill() };
}

async function proveInChromium(options, report) {
  if (!existsSync(CHROMIUM))
    return { record: { host: { name: "Chromium" }, notRun: `there is no ${CHROMIUM}` }, close() {} };
  const page = await openPage("/tests/bench/proof/page.mjs");
  const hasOrt = existsSync(here("../node_modules/onnxruntime-web"));
  const record = page.run({ ...options, hasOrt, host: { name: page.name, cpu: "" } }, report);
  record.catch(() => {}); // it also rejects when the browser is closed
  return { record, close: () => page.close() };
}
