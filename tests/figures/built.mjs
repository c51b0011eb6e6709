// What a visitor downloads: sizes of the built package.

import { readFileSync } from "node:fs";
import path from "node:path";

import { transformSync } from "esbuild";

import { appSizes } from "../../web/build/appSizes.mjs";
import { dist } from "../../web/build/paths.mjs";
import { gzipped } from "../../web/build/sizes.mjs";

/**
 * Pages say whole KB, so a figure may be half of one off. How small gzip makes the same bytes depends on its version and on
 * the processor: README.md has what was measured.
 */
export const ROUNDING_KB = 0.5;
export const GZIP_SHARE = 0.01;

const contentsOf = (name) => readFileSync(path.join(dist, name));
const minified = (name) => transformSync(contentsOf(name).toString(), { minify: true, format: "esm" }).code;
const sizeOf = (...names) => names.reduce((sum, name) => sum + gzipped(contentsOf(name)), 0);

const app = appSizes();

const LOADER = "wasm/headwise.relaxed.js";
const MODULE = "wasm/headwise.relaxed.wasm";
const LATE_PART = "wasm/headwise.relaxed.late.wasm";
const FILES = [LOADER, MODULE, LATE_PART, "inline.js", "webgpu-engine.js", "worker-entry.js", "auto-engine.js"];
/** Entries that a page adds to `headwise`. Its bundler minifies them. */
const ADDED = ["formula.js", "train.js", "models.js", "inspect.js"];

/**
 * Sizes after gzip, in KB of 1000 bytes. `app …` is JavaScript that a bundler has made small. `page` is what a page loads to
 * compute on wasm; by default the part that chooses between engines comes too.
 */
export const builtSizes = () => ({
  page: app.plain + app.auto + sizeOf(LOADER, MODULE),
  ...Object.fromEntries(Object.entries(app).map(([name, size]) => [`app ${name}`, size])),
  ...Object.fromEntries(FILES.map((name) => [name, sizeOf(name)])),
  ...Object.fromEntries(ADDED.map((name) => [`${name} minified`, gzipped(minified(name))])),
});

/** The figures of pages. */
export const builtFigures = () =>
  Object.fromEntries(
    Object.entries(builtSizes()).map(([name, size]) => [name, { value: Math.round(size), unit: "KB" }]),
  );
