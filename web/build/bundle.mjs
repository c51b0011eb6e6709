// web/src → dist: one self-contained ES module for each entry of the package, the operations that two of them load when
// they are first called, and the types.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";

import { minify } from "@swc/core";
import { build as esbuild } from "esbuild";

import { takingFrom } from "./handOver.mjs";
import { build, dist, inlineModule, root } from "./paths.mjs";
import { run } from "./run.mjs";
import { whenStale } from "./stale.mjs";

/** Every entry the package is to have; one whose source is not written yet is left out. */
const ENTRIES = [
  { name: "index", source: "web/src/index.ts", platform: "browser" },
  { name: "index.node", source: "web/src/index.node.ts", platform: "node" },
  { name: "worker", source: "web/src/worker.ts", platform: "browser" },
  { name: "worker.node", source: "web/src/worker.node.ts", platform: "node" },
  { name: "worker-entry", source: "web/src/worker/entry.ts", platform: "browser" },
  { name: "worker-entry.node", source: "web/src/worker/entry.node.ts", platform: "node" },
  { name: "inline", source: "web/src/inline.ts", platform: "browser" },
  { name: "webgpu", source: "web/src/webgpu.ts", platform: "browser" },
  { name: "webgpu-engine", source: "web/src/webgpuEngine.ts", platform: "browser" },
  { name: "onnx", source: "web/src/onnx.ts", platform: "browser" },
  { name: "viz", source: "web/src/viz.ts", platform: "browser" },
];

/**
 * What `headwise` loads when it is first called. It lies with the engine's files: who copies those has it too, and no
 * bundler makes a chunk of it, which single-file and worker builds refuse.
 */
const OPERATIONS = { name: "wasm/headwise.operations", source: "web/src/operationsFile.ts", shared: "web/src/shared.ts" };

/** What each entry was made from, as esbuild tells it. */
export const metafiles = path.join(build, "metafiles");

const CONFIGURATION = ["package.json", "package-lock.json", "web/build/bundle.mjs", "web/build/handOver.mjs"];

export async function bundle() {
  const entries = ENTRIES.filter(({ source }) => existsSync(path.join(root, source)));
  const inputs = ["web/src", ...Object.values(inlineModule).map(fromRoot), ...CONFIGURATION];
  const outputs = [...entries, OPERATIONS].flatMap(({ name }) => [`dist/${name}.js`, metafileOf(name)]);
  await whenStale("bundle", { inputs, outputs }, async () => {
    for (const entry of entries) await bundleEntry(entry);
    await bundleOperations();
  });
}

const version = () => JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).version;
const metafileOf = (name) => fromRoot(path.join(metafiles, `${path.basename(name)}.json`));

const asShipped = () => ({
  absWorkingDir: root,
  metafile: true,
  bundle: true,
  minify: true,
  target: "es2022",
  legalComments: "inline",
  logLevel: "warning",
  define: { HEADWISE_VERSION: JSON.stringify(version()) },
});

async function bundleEntry({ name, source, platform }) {
  const file = path.join(dist, `${name}.js`);
  const entry = { entryPoints: [source], outfile: file, format: "esm", platform };
  const { metafile } = await esbuild({ ...asShipped(), ...entry, plugins: [bareWgsl, inlinedModule] });
  await shrink(file);
  writeFileSync(file, unseenByBundlers(readFileSync(file, "utf8")));
  writeMetafile(name, metafile);
}

/** The operations as a function of what they share with the entry: a file of its own can import nothing by a fixed name. */
async function bundleOperations() {
  const { name, source, shared } = OPERATIONS;
  const entry = { entryPoints: [source], outfile: path.join(dist, `${name}.js`), format: "iife", globalName: "operations" };
  const banner = { js: `export const version=${JSON.stringify(version())};export default shared=>{` };
  const footer = { js: "return operations}" };
  const plugins = [await takingFrom(shared, asShipped())];
  const { metafile } = await esbuild({ ...asShipped(), ...entry, banner, footer, plugins });
  await shrink(path.join(dist, `${name}.js`));
  writeMetafile(name, metafile);
}

/** What esbuild leaves: a few per cent. */
async function shrink(file) {
  const options = { module: true, ecma: 2022, mangle: true, compress: { ecma: 2022, passes: 3 } };
  const { code } = await minify(readFileSync(file, "utf8"), { ...options, format: { comments: "some" } });
  writeFileSync(file, code);
}

function writeMetafile(name, metafile) {
  mkdirSync(metafiles, { recursive: true });
  writeFileSync(path.join(root, metafileOf(name)), JSON.stringify(metafile));
}

/** Minifying drops the comments by which users' bundlers leave an import to the browser. */
function unseenByBundlers(code) {
  const comments = ["webpackIgnore: true", "turbopackIgnore: true", "@vite-ignore"].map((hint) => `/* ${hint} */`);
  return code.replace(/\bimport\((?=\w+\))/g, `import(${comments.join(" ")}`);
}

const fromRoot = (file) => path.relative(root, file);

/** Kernels as text, without what only readers need. */
const bareWgsl = {
  name: "bare-wgsl",
  setup(build) {
    build.onLoad({ filter: /\.wgsl$/ }, async ({ path: file }) => {
      const lines = (await readFile(file, "utf8")).split("\n").map((line) => line.replace(/\/\/.*/, "").trim());
      return { contents: lines.filter((line) => line !== "").join("\n"), loader: "text" };
    });
  },
};

/** `inline-module:glue` and `inline-module:wasm`, which the wasm step has made. */
const inlinedModule = {
  name: "inlined-module",
  setup(build) {
    build.onResolve({ filter: /^inline-module:/ }, ({ path: name }) => ({
      path: inlineModule[name.slice("inline-module:".length)],
      sideEffects: false,
    }));
  },
};

/** The public types, generated from the same sources. */
export async function emitTypes() {
  const inputs = ["web/src", "web/tsconfig.json", "web/tsconfig.types.json", ...CONFIGURATION];
  await whenStale("types", { inputs, outputs: ["dist/types/index.d.ts"] }, async () => {
    rmSync(path.join(dist, "types"), { recursive: true, force: true });
    await run(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "web/tsconfig.types.json"]);
  });
}
