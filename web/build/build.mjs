// npm run build: builds everything that is stale, and nothing else.

import path from "node:path";
import { pathToFileURL } from "node:url";

import { findToolchain } from "../../cpp/toolchain/emscripten.mjs";
import { withLock } from "../../cpp/toolchain/lock.mjs";
import { setUp } from "../../cpp/toolchain/setup.mjs";
import { installPackages } from "./packages.mjs";
import { build } from "./paths.mjs";
import { run, say } from "./run.mjs";
import { whenStale } from "./stale.mjs";
import { buildWasm } from "./wasm.mjs";

/** Builds what is needed to run: packages, toolchain, dist/ and dist-demo/. It also works in a bare clone. */
export async function buildToRun() {
  await underLock(buildRunnable);
}

/** Builds what is needed to compute: packages, toolchain and dist/, without the types. */
export async function buildPackage() {
  await underLock(buildModules);
}

/** Builds what the npm package holds: the same, and the types and the bill of materials. */
export async function buildAll() {
  await underLock(async () => {
    await buildRunnable();
    const { emitTypes } = await import("./bundle.mjs");
    await emitTypes();
    const { writeSbom } = await import("./sbom.mjs");
    writeSbom(findToolchain());
  });
}

function underLock(work) {
  const waiting = () => say("build: another build is running in this folder: waiting for it");
  return withLock(path.join(build, "lock"), waiting, work);
}

async function buildModules() {
  await installPackages();
  await buildWasm(await setUp(["wasm"]));
  const { bundle } = await import("./bundle.mjs"); // needs the packages
  await bundle();
}

async function buildRunnable() {
  await buildModules();
  // The page contains the package, as a user's bundle does. Node computes its first picture.
  const entries = ["formula", "index", "index.node", "inspect", "models", "train", "viz"].map(
    (name) => `dist/${name}.js`,
  );
  const inputs = ["web/demo", ...entries, "dist/wasm", "package-lock.json"];
  const outputs = ["dist-demo/cli.js", "dist-demo/page/index.html", "dist-demo/model/model.json"];
  await whenStale("demo", { inputs, outputs }, () => run(process.execPath, ["web/demo/build.mjs"]));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await buildAll();
  } catch (error) {
    say(error.message);
    process.exitCode = 1;
  }
}
