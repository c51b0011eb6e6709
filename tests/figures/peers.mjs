// What a page downloads of other libraries: their files from npm, after gzip.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { transformSync } from "esbuild";

import { gzipped } from "../../web/build/sizes.mjs";

/** The files that a page loads from dist/ of each package. */
const LOADED = {
  "onnxruntime-web": {
    "onnxruntime-web@1.30.0": ["ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"],
  },
  "TensorFlow.js": {
    "@tensorflow/tfjs-core@4.22.0": ["tf-core.min.js"],
    "@tensorflow/tfjs-backend-wasm@4.22.0": ["tf-backend-wasm.min.js", "tfjs-backend-wasm-threaded-simd.wasm"],
  },
  "transformers.js": {
    "@huggingface/transformers@4.3.1": ["transformers.web.min.js"],
    "onnxruntime-web@1.31.0-dev.20260914-8d85527a0": [
      "ort.webgpu.bundle.min.mjs",
      "ort-wasm-simd-threaded.asyncify.mjs",
      "ort-wasm-simd-threaded.asyncify.wasm",
    ],
  },
  "jax-js": { "@jax-js/jax@0.1.25": ["index.js", "backend-CnjgxpXq.js", "rolldown-runtime-D7D4PA-g.js"] },
};

/** The package ships readable files, which the bundler of a page minifies. */
const READABLE = "@jax-js/jax";

/** Rows of the table "peers": a library, its packages, the files, and their size together. */
export function peerRows() {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-peers-"));
  try {
    return Object.fromEntries(Object.entries(LOADED).map(([name, packages]) => [name, rowOf(packages, folder)]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function rowOf(packages, folder) {
  const files = Object.entries(packages).flatMap(([name, files]) => {
    const sizes = sizesIn(unpacked(name, folder), files, name.startsWith(READABLE));
    return files.map((file, n) => ({ file, size: sizes[n] }));
  });
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const texts = files.map(({ file, size }) => `\`${file}\` ${whole(size)}`);
  return [Object.keys(packages).join(", "), texts.join(", "), whole(total)];
}

const whole = (size) => Math.round(size).toLocaleString("en");

function sizesIn(folder, files, isReadable) {
  const contents = files.map((file) => readFileSync(path.join(folder, "package/dist", file)));
  return contents.map((content) => gzipped(isReadable ? transformSync(content, { minify: true }).code : content));
}

/** The folder with the files of a package. */
function unpacked(name, parent) {
  const folder = mkdtempSync(path.join(parent, "package-"));
  const [{ filename }] = JSON.parse(execFileSync("npm", ["pack", name, "--json"], { cwd: folder, encoding: "utf8" }));
  execFileSync("tar", ["-xzf", filename], { cwd: folder });
  return folder;
}
