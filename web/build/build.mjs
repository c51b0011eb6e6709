// npm run build: builds what the npm package holds, as far as it is stale.

import path from "node:path";
import { pathToFileURL } from "node:url";

import { findToolchain } from "../../cpp/toolchain/emscripten.mjs";
import { withLock } from "../../cpp/toolchain/lock.mjs";
import { setUp } from "../../cpp/toolchain/setup.mjs";
import { installPackages } from "./packages.mjs";
import { build, root } from "./paths.mjs";
import { run, say } from "./run.mjs";
import { optionsOf } from "./usage.mjs";
import { printPageSize } from "./sizes.mjs";
import { whenStale } from "./stale.mjs";
import { buildWasm } from "./wasm.mjs";

/**
 * Builds what the first picture in the terminal needs: one module, the package for Node and the command. Packages, toolchain
 * and compiled code come beside each other.
 *
 * @param {"simd" | "relaxed"} variant - the module that this Node will load
 */
export async function buildPicture(variant) {
  await underLock(async () => {
    await buildModules({ modules: [variant], bundles: ["inParts"], withTools: false });
    const { buildCommand } = await import("../demo/command.mjs"); // needs the packages
    const inputs = [
      "web/demo/cli",
      "web/demo/model",
      "web/build/usage.mjs",
      "web/demo/command.mjs",
      "package-lock.json",
    ];
    await whenStale("command", { inputs, outputs: ["dist-demo/cli.js"] }, buildCommand);
  });
}

/** Builds what the lab needs: the modules and bundles of pages, and the page itself. */
export async function buildPage() {
  await underLock(buildRunnable);
}

/** Builds what is needed to run: packages, toolchain, dist/ and dist-demo/. It also works in a bare clone. */
export async function buildToRun() {
  await underLock(() => buildModules());
  await buildPicture("simd");
  await buildPage();
}

/** Builds what is needed to compute: packages, toolchain and dist/, without the types and without the tools of tests. */
export async function buildPackage() {
  await underLock(() => buildModules({ withTools: false }));
}

/** Builds what the npm package holds: the same, and the types and the bill of materials. */
export async function buildAll() {
  await underLock(async () => {
    await buildModules();
    const { emitTypes } = await import("./types.mjs");
    await emitTypes();
    const { writeSbom } = await import("./sbom.mjs");
    writeSbom(findToolchain());
  });
}

/** Builds what tests need: the tools of all languages, what the npm package holds, and the lab. */
export async function buildForTests() {
  await run(process.execPath, ["cpp/toolchain/setup.mjs", "--all"]);
  await run(process.execPath, ["web/build/build.mjs", "--lab"]);
}

function underLock(work) {
  const waiting = () => say("build: another build is running in this folder: waiting for it");
  return withLock(path.join(build, "lock"), waiting, work);
}

/** Builds modules of WebAssembly and bundles; all of them unless some are named. */
async function buildModules({ modules, bundles, withTools = true } = {}) {
  const packages = installPackages({ withTools });
  packages.catch(() => {}); // told where it is awaited
  await buildWasm(await setUp(["wasm"]), modules, packages);
  await packages;
  const { bundle } = await import("./bundle.mjs"); // needs the packages
  await bundle(bundles);
}

async function buildRunnable() {
  await buildModules({ modules: ["simd", "relaxed"], bundles: ["inParts", "modules"], withTools: false });
  // The page contains the package, as a user's bundle does. Node computes its first picture.
  const entries = ["formula", "index", "index.node", "inspect", "models", "train", "viz"].map(
    (name) => `dist/${name}.js`,
  );
  const inputs = ["web/demo", ...entries, "dist/wasm", "package-lock.json"];
  const outputs = ["dist-demo/page/index.html", "dist-demo/model/model.json"];
  await whenStale("page", { inputs, outputs }, async () => {
    await run(process.execPath, ["web/demo/build.mjs"]);
    printPageSize(path.join(root, "dist-demo/page"));
  });
}

const USAGE = `npm run build -- [options]: what the npm package holds, as far as it is stale, and
  --lab     the lab too, as the tests need it
  --help    this text`;

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    if (optionsOf(USAGE).lab) await buildToRun();
    await buildAll();
  } catch (error) {
    say(error.message);
    process.exitCode = 1;
  }
}
