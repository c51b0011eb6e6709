// web/src → dist: a module for each entry of the package. The modules that a program imports are readable: its bundler
// makes them small. `headwise` and `headwise/worker` load parts of their code when a call
// first needs them: files `part-…` that they share. Every other module is one file. Bundlers copy those that are named by URL
// as they are, so these are small already, with a source map that holds the sources.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";

import { decode, encode } from "@jridgewell/sourcemap-codec";
import { build as esbuild } from "esbuild";

import { appSizes } from "./appSizes.mjs";
import { build, dist, inlineModule, root } from "./paths.mjs";
import { printSizes } from "./sizes.mjs";
import { whenStale } from "./stale.mjs";

/**
 * Each file of dist/, its source, and its platform. `.cjs` is for `require`. On platform "node" esbuild ends it with a list
 * of its exports, which Node's `import` and bundlers read.
 */
export const ENTRIES = [
  { file: "index.js", source: "web/src/entries/index.ts", platform: "browser" },
  { file: "index.node.js", source: "web/src/entries/index.node.ts", platform: "node" },
  { file: "worker.js", source: "web/src/entries/worker.ts", platform: "browser" },
  { file: "worker.node.js", source: "web/src/entries/worker.node.ts", platform: "node" },
  { file: "worker-entry.js", source: "web/src/worker/entry.ts", platform: "browser", isSmall: true },
  { file: "worker-entry.node.js", source: "web/src/worker/entry.node.ts", platform: "node" },
  { file: "inline.js", source: "web/src/entries/inline.ts", platform: "browser" },
  { file: "inline.cjs", source: "web/src/entries/inline.ts", platform: "node" },
  { file: "webgpu.js", source: "web/src/entries/webgpu.ts", platform: "browser" },
  { file: "webgpu-engine.js", source: "web/src/entries/webgpuEngine.ts", platform: "browser", isSmall: true },
  { file: "auto-engine.js", source: "web/src/entries/autoEngine.ts", platform: "browser", isSmall: true },
  { file: "formula.js", source: "web/src/entries/formula.ts", platform: "browser" },
  { file: "formula.cjs", source: "web/src/entries/formula.ts", platform: "node" },
  { file: "onnx.js", source: "web/src/entries/onnx.ts", platform: "browser" },
  { file: "onnx.cjs", source: "web/src/entries/onnx.ts", platform: "node" },
  { file: "train.js", source: "web/src/entries/train.ts", platform: "browser" },
  { file: "train.cjs", source: "web/src/entries/train.ts", platform: "node" },
  { file: "models.js", source: "web/src/entries/models.ts", platform: "browser" },
  { file: "models.cjs", source: "web/src/entries/models.ts", platform: "node" },
  { file: "inspect.js", source: "web/src/entries/inspect.ts", platform: "browser" },
  { file: "inspect.cjs", source: "web/src/entries/inspect.ts", platform: "node" },
  { file: "viz.js", source: "web/src/entries/viz.ts", platform: "browser" },
  { file: "viz.cjs", source: "web/src/entries/viz.ts", platform: "node" },
  { file: "react.js", source: "web/src/entries/react.ts", platform: "browser" },
  { file: "react.cjs", source: "web/src/entries/react.ts", platform: "node" },
];

/** The metafile of each entry: esbuild's list of the files in it. */
export const metafiles = path.join(build, "metafiles");

export const CONFIGURATION = ["package.json", "package-lock.json", "web/build/bundle.mjs"];

/** The entries that load parts of their code. */
const IN_PARTS = /^(index|worker)(\.node)?\.js$/;

/** The order in which bundles are made: what the first picture in the terminal needs, the others, and `inline`. */
const GROUPS = {
  inParts: ENTRIES.filter(({ file }) => IN_PARTS.test(file)),
  modules: ENTRIES.filter(({ file }) => !IN_PARTS.test(file) && !file.startsWith("inline.")),
  inline: ENTRIES.filter(({ file }) => file.startsWith("inline.")), // contains a module of WebAssembly
};

/** Makes the bundles of some groups, or of all. */
export async function bundle(groups = Object.keys(GROUPS)) {
  for (const group of groups) {
    const entries = GROUPS[group];
    const inputs = ["web/src", ...CONFIGURATION];
    if (group === "inline") inputs.push(...Object.values(inlineModule).map(fromRoot));
    const outputs = entries.flatMap(({ file }) => [`dist/${file}`, metafileOf(file)]);
    if (group === "inParts") outputs.push(...partFiles().map((name) => `dist/${name}`));
    await whenStale(`bundle-${group}`, { inputs, outputs }, async () => {
      removeStrangers();
      if (group === "inParts") await bundleInParts(entries);
      else for (const entry of entries) await bundleEntry(entry);
      if (group === "inline") printSizes(appSizes());
    });
  }
}

/** The files of parts that the last build has made. */
function partFiles() {
  const made = path.join(root, metafileOf("index.js"));
  if (!existsSync(made)) return [];
  const { outputs } = JSON.parse(readFileSync(made, "utf8"));
  return Object.keys(outputs)
    .map((file) => path.basename(file))
    .filter((name) => name.startsWith("part-"));
}

/** Removes files that are no longer an entry or a part: npm would pack them. */
function removeStrangers() {
  const files = new Set([...ENTRIES.flatMap(({ file }) => [file, `${file}.map`]), ...partFiles()]);
  const strangers = readdirSync(dist).filter((name) => /\.(c?js|map)$/.test(name) && !files.has(name));
  for (const name of strangers) rmSync(path.join(dist, name));
}

const version = () => JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).version;
const metafileOf = (file) => fromRoot(path.join(metafiles, `${file}.json`));

const asShipped = () => ({
  absWorkingDir: root,
  metafile: true,
  bundle: true,
  target: "es2022",
  sourcemap: "external", // for the coverage of web/src; the package leaves it out
  legalComments: "inline",
  logLevel: "warning",
  define: { HEADWISE_VERSION: JSON.stringify(version()) },
});

const SMALL = { minify: true, sourcemap: "linked" };

async function bundleEntry({ file, source, platform, isSmall = false }) {
  const outfile = path.join(dist, file);
  const isRequired = file.endsWith(".cjs");
  const supported = { "dynamic-import": !isRequired }; // Jest's `require` has no import()
  const entry = { entryPoints: [source], outfile, format: isRequired ? "cjs" : "esm", platform, supported };
  const plugins = [bareWgsl, inlinedModule, publicNames(isRequired)];
  const { metafile } = await esbuild({
    ...asShipped(),
    ...entry,
    plugins,
    ...(isSmall && SMALL),
  });
  if (isSmall) restoreHints(outfile);
  writeMetafile(file, metafile);
}

/**
 * Makes the entries that load parts of their code, for pages and Node at once. All files lie beside each other, since the
 * addresses of the engine's files are relative.
 */
async function bundleInParts(entries) {
  const { metafile } = await esbuild({
    ...asShipped(),
    entryPoints: entries.map(({ file, source }) => ({ in: source, out: path.basename(file, ".js") })),
    outdir: dist,
    chunkNames: "part-[name]-[hash]",
    splitting: true,
    format: "esm",
    platform: "browser",
    external: ["node:*"],
    plugins: [publicNames(false)],
  });
  const made = Object.keys(metafile.outputs).filter((file) => file.endsWith(".js"));
  for (const file of made) withoutBareImports(path.join(root, file));
  for (const { file } of entries) writeMetafile(file, metafile);
  removeStrangers();
}

/** Removes imports of nothing, which esbuild writes for the order of modules: no module of the package does anything then. */
function withoutBareImports(file) {
  writeFileSync(file, readFileSync(file, "utf8").replace(/^import "\.\/part-[^"]+";$/gm, ""));
}

/** What tells bundlers to leave an `import()` alone. esbuild drops it together with white space. */
const HINTS = "/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ ";

/** Writes HINTS into each `import()` of a variable. */
function restoreHints(file) {
  const places = [...readFileSync(file, "utf8").matchAll(/(?<=\bimport\()(?=[\w$]+\))/g)].map(({ index }) => index);
  for (const place of places.reverse()) insert(file, place, HINTS);
}

/** Inserts words into a line of a file that has a source map. */
function insert(file, place, words) {
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.slice(0, place) + words + text.slice(place));
  const map = JSON.parse(readFileSync(`${file}.map`, "utf8"));
  const lines = decode(map.mappings);
  const before = text.slice(0, place).split("\n");
  for (const segment of lines[before.length - 1]) if (segment[0] >= before.at(-1).length) segment[0] += words.length;
  writeFileSync(`${file}.map`, JSON.stringify({ ...map, mappings: encode(lines) }));
}

function writeMetafile(file, metafile) {
  mkdirSync(metafiles, { recursive: true });
  writeFileSync(path.join(root, metafileOf(file)), JSON.stringify(metafile));
}

const fromRoot = (file) => path.relative(root, file);

/** Loads kernels as text, without comments, indentation and empty lines. */
const bareWgsl = {
  name: "bare-wgsl",
  setup(build) {
    build.onLoad({ filter: /\.wgsl$/ }, async ({ path: file }) => {
      const lines = (await readFile(file, "utf8")).split("\n").map((line) => line.replace(/\/\/.*/, "").trim());
      return { contents: lines.filter((line) => line !== "").join("\n"), loader: "text" };
    });
  },
};

/** Resolves `inline-module:glue` and `inline-module:wasm`, which the wasm step has made. */
const inlinedModule = {
  name: "inlined-module",
  setup(build) {
    build.onResolve({ filter: /^inline-module:/ }, ({ path: name }) => ({
      path: inlineModule[name.slice("inline-module:".length)],
      sideEffects: false,
    }));
  },
};

/**
 * Leaves React and the package's own public names outside of a bundle, so that it shares them with the program. `require`
 * finds `headwise` as `headwise/inline`, as a program does.
 */
const publicNames = (isRequired) => ({
  name: "public-names",
  setup(build) {
    build.onResolve({ filter: /^(react|headwise(\/.*)?)$/ }, ({ path: name }) => ({
      path: isRequired && name === "headwise" ? "headwise/inline" : name,
      external: true,
      sideEffects: false,
    }));
  },
});
