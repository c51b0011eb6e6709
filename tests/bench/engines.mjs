// The engines that can run the harness: this Node, another version of Node, Chromium.

import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build, root } from "../../web/build/paths.mjs";
import { run, say } from "../../web/build/run.mjs";

/** Versions of Node from npm, where the program for each platform is a package of its own. */
const NODE_VERSIONS = { 20: "20.20.2", 22: "22.23.3", 24: "24.21.0" };

/** What `--node` may name. */
export const VERSIONS = Object.keys(NODE_VERSIONS);

/** Opens an engine: { name, run(configuration, report), close() }. */
export async function openEngine({ browser, node }) {
  return browser ? openChromium() : openNode(node);
}

/** The program of this Node or another version, with the flags for relaxed SIMD. */
export async function nodeProgram(major = currentMajor()) {
  return {
    program: major === currentMajor() ? process.execPath : await installNode(major),
    flags: major < 22 ? ["--experimental-wasm-relaxed-simd"] : [],
  };
}

async function openNode(major = currentMajor()) {
  const { program, flags } = await nodeProgram(major);
  const harness = fileURLToPath(new URL("harness/node.mjs", import.meta.url));
  const version = major === currentMajor() ? process.versions.node : NODE_VERSIONS[major];
  return {
    name: `Node ${version}`,
    run: (configuration, report) =>
      new Promise((resolve, reject) => {
        const child = fork(harness, [JSON.stringify(configuration)], {
          execPath: program,
          execArgv: ["--expose-gc", ...flags],
        });
        child.on("message", report);
        child.on("error", reject);
        child.on("exit", (code, signal) =>
          code === 0 ? resolve() : reject(new Error(`ended with ${code ?? signal}`)),
        );
      }),
    close() {},
  };
}

const currentMajor = () => Number(process.versions.node.split(".")[0]);

async function installNode(major) {
  const version = NODE_VERSIONS[major];
  const platform = `node-${process.platform}-${process.arch}`;
  const folder = path.join(build, `node-${version}`);
  const program = path.join(folder, "node_modules", platform, "bin/node");
  if (existsSync(program)) return program;
  say(`bench: fetching Node ${version}`);
  await run("npm", ["install", "--prefix", folder, "--no-save", "--ignore-scripts", `${platform}@${version}`]);
  return program;
}

async function openChromium() {
  const { chromium } = await import("playwright-core");
  const server = await serveRepository();
  const executablePath = process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--js-flags=--expose-gc"] });
  return {
    name: `Chromium ${browser.version()}`,
    async run(configuration, report) {
      const context = await browser.newContext(); // with a process of its own
      try {
        await runInPage(await context.newPage(), server.url, configuration, report);
      } finally {
        await context.close();
      }
    },
    async close() {
      await browser.close();
      server.stop();
    },
  };
}

async function runInPage(page, url, configuration, report) {
  await page.exposeFunction("report", report);
  await page.goto(url);
  await page.evaluate(
    (settings) =>
      new Promise((resolve, reject) => {
        const worker = new Worker("/tests/bench/harness/worker.mjs", { type: "module" });
        worker.onmessage = async ({ data }) => {
          if (data.done) resolve();
          else if (data.error) reject(new Error(data.error));
          else await window.report(data);
        };
        worker.onerror = (event) => reject(new Error(event.message ?? "the worker does not start"));
        worker.postMessage(settings);
      }),
    configuration,
  );
}

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};

/** Serves the repository to a cross-origin isolated page, which may have threads. */
export async function serveRepository() {
  const isolation = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost"); // a resolved path cannot leave the root
    const file = path.join(root, pathname);
    try {
      const body = pathname === "/" ? "<!doctype html><title>bench</title>" : await readFile(file);
      const type = pathname === "/" ? "text/html" : (TYPES[path.extname(file)] ?? "text/plain");
      response.writeHead(200, { ...isolation, "content-type": type }).end(body);
    } catch {
      response.writeHead(404, isolation).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, stop };
}
