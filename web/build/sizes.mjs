// Measures and prints the gzip sizes of the shipped files, as a server sends them. A size over its budget is a warning,
// never a failure.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";

import { dist } from "./paths.mjs";
import { say } from "./run.mjs";

/** In KB of 1000 bytes. A file that is not listed has no budget. */
const BUDGETS = {
  "worker-entry.js": 34,
  "worker-entry.node.js": 115,
  "auto-engine.js": 56,
  "webgpu-engine.js": 111,
  "formula.js": 19.3,
  "formula.cjs": 19.6,
  "train.js": 12.5,
  "train.cjs": 13,
  "models.js": 64,
  "models.cjs": 65,
  "inspect.js": 10,
  "inspect.cjs": 10.5,
  "react.js": 4.7,
  "react.cjs": 5.3,
  "inline.js": 345,
  "inline.cjs": 345,
  "wasm/headwise.simd.js": 11.2,
  "wasm/headwise.relaxed.js": 11.2,
  "wasm/headwise.simd.wasm": 112,
  "wasm/headwise.simd.late.wasm": 91,
  "wasm/headwise.relaxed.wasm": 112,
  "wasm/headwise.relaxed.late.wasm": 92,
};

/** The size of contents after gzip, in KB of 1000 bytes. */
export const gzipped = (contents) => gzipSync(contents, { level: 9 }).length / 1000;

/** Prints a line for each file of dist/ that is loaded, and for what an app loads (`appSizes`). */
export function printSizes(app) {
  const names = readdirSync(dist, { recursive: true }).filter((name) => /\.(c?js|wasm)$/.test(name));
  for (const name of names.sort()) say(lineOf(name, gzipped(readFileSync(path.join(dist, name)))));
  for (const [name, size] of Object.entries(app)) say(lineOf(`app: ${name}`, size, APP_BUDGETS[name]));
}

/** "plain" stays below the goal, which is 40. */
const APP_BUDGETS = {
  plain: 38.5,
  formulas: 9,
  auto: 13,
  layers: 34,
  operations: 10,
  placed: 8,
  plans: 15.8,
  steps: 30.8,
};

/**
 * What a visitor's browser reads before any room opens: the page, its styles and scripts, and what those import at once.
 * The page has the first scene of the lesson in it.
 */
const PAGE_BUDGET = 53;

/** Prints a line for the lab's page in this folder. */
export function printPageSize(page) {
  const seen = new Set(["index.html"]);
  for (const name of seen) for (const next of namedBy(page, name)) seen.add(next);
  const sizes = [...seen].map((name) => gzipped(readFileSync(path.join(page, name))));
  const total = sizes.reduce((sum, size) => sum + size);
  say(lineOf("the lab, before a room", total, PAGE_BUDGET));
}

/** The scripts and styles that a file of the page asks for at once. */
function namedBy(page, name) {
  const pattern = name.endsWith(".html")
    ? /(?:src|href)="\.\/([^"]+\.(?:js|css))"/g
    : /(?:\bimport|\bfrom)\s*"\.\/([^"]+\.js)"/g;
  const found = [...readFileSync(path.join(page, name), "utf8").matchAll(pattern)];
  return found.map(([, file]) => path.join(path.dirname(name), file));
}

function lineOf(name, size, budget = BUDGETS[name]) {
  const line = `size: ${name.padEnd(26)} ${size.toFixed(1).padStart(6)} KB by gzip`;
  return size > budget ? `${line}  WARNING: above its budget of ${budget} KB` : line;
}
