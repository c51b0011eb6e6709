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
/** A host that says nothing for so long hangs. A slow machine may take minutes to compile a kernel. */
const SILENT_SECONDS = 240;

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
  const silence = new Silence();
  let host;
  try {
    host = await HOSTS[name](options, (progress) => {
      silence.end();
      report(progress);
    });
    return await Promise.race([host.record, silence.isTooLong]);
  } catch (error) {
    return { host: { name }, failure: error.message };
  } finally {
    silence.stop();
    await host?.close();
  }
}

/** Rejects `isTooLong` when a host has said nothing for too long. */
class Silence {
  #reject;
  #timer;
  isTooLong = new Promise((_, reject) => (this.#reject = reject));

  constructor() {
    this.end();
  }

  end() {
    this.stop();
    const hangs = () => this.#reject(new Error(`it said nothing for ${SILENT_SECONDS} s`));
    this.#timer = setTimeout(hangs, 1e3 * SILENT_SECONDS);
  }

  stop() {
    clearTimeout(this.#timer);
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
