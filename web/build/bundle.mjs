// web/src → dist: one self-contained, readable ES module for each entry of the package, and the types.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";

import { build as esbuild } from "esbuild";

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

/** What each entry was made from, as esbuild tells it. */
export const metafiles = path.join(build, "metafiles");

const CONFIGURATION = ["package.json", "package-lock.json", "web/build/bundle.mjs"];

export async function bundle() {
  const entries = ENTRIES.filter(({ source }) => existsSync(path.join(root, source)));
  const inputs = ["web/src", ...Object.values(inlineModule).map(fromRoot), ...CONFIGURATION];
  const outputs = entries.flatMap(({ name }) => [`dist/${name}.js`, metafileOf(name)]);
  await whenStale("bundle", { inputs, outputs }, async () => {
    for (const entry of entries) await bundleEntry(entry);
  });
}

const version = () => JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).version;
const metafileOf = (name) => fromRoot(path.join(metafiles, `${path.basename(name)}.json`));

const asShipped = () => ({
  absWorkingDir: root,
  metafile: true,
  bundle: true,
  target: "es2022",
  legalComments: "inline",
  logLevel: "warning",
  define: { HEADWISE_VERSION: JSON.stringify(version()) },
});

async function bundleEntry({ name, source, platform }) {
  const file = path.join(dist, `${name}.js`);
  const entry = { entryPoints: [source], outfile: file, format: "esm", platform };
  const { metafile } = await esbuild({ ...asShipped(), ...entry, plugins: [bareWgsl, inlinedModule] });
  writeMetafile(name, metafile);
}

function writeMetafile(name, metafile) {
  mkdirSync(metafiles, { recursive: true });
  writeFileSync(path.join(root, metafileOf(name)), JSON.stringify(metafile));
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
