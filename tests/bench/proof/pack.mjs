// npm run gpu:proof -- --pack FOLDER: a folder that runs the proof in Node on another machine with Linux on x64. That machine
// needs no network, no packages and no clone of this repository: only a shell, tar, gzip and a driver.

import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

import { build as bundle } from "esbuild";

import { root } from "../../../web/build/paths.mjs";

/** What the proof reads, at the same places as here. */
const FILES = [
  "dist",
  "package.json",
  "LICENSE",
  "THIRD-PARTY-NOTICES.md",
  "tests/bench/proof/node.mjs",
  "tests/webgpu/softwareAdapter.mjs",
  "tests/attention-conformance/runner/chromiumFlag.mjs",
  "tests/cases/attention.json",
  "node_modules/webgpu/package.json",
  "node_modules/webgpu/index.js",
  "node_modules/webgpu/LICENSE.md",
  "node_modules/webgpu/dist/linux-x64",
];

/** ONNX Runtime Web, where it is installed; its program is packed with brotli, which makes it smaller than gzip does. */
const ORT = "tests/bench/node_modules/onnxruntime-web";
const ORT_FILES = ["package.json", "dist/ort.webgpu.min.mjs", "dist/ort-wasm-simd-threaded.asyncify.mjs"];
const ORT_PROGRAM = "dist/ort-wasm-simd-threaded.asyncify.wasm";

/** Not needed there: types, other module formats, and files that only pages load. */
const LEFT_OUT =
  /\.(d\.[cm]?ts|map|cjs)$|\/dist\/(viz|onnx|inline|train|models|inspect|wasm\/headwise\.inline)[.\w-]*$/;

/** The loader of Vulkan. A machine with a driver usually has it. */
const VULKAN = "/usr/lib/x86_64-linux-gnu/libvulkan.so.1";

const RUN = `#!/bin/sh
# Runs the proof of headwise on the GPU of this machine. Options: --quick, --minutes N, --save FILE (default
# gpu-proof.json here).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$here/proof.tar.gz" -C "$work"
if [ -e "$work/lib/libvulkan.so.1" ] && ! ldconfig -p 2>/dev/null | grep -q libvulkan.so.1; then
  export LD_LIBRARY_PATH="$work/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
"$work/bin/node" "$work/tests/bench/proof/packed.mjs" --save "$here/gpu-proof.json" "$@"
`;

const README = `This folder proves on this machine what headwise computes with its GPU, and how fast.

  ./run            the whole proof, 8 minutes at most; it writes gpu-proof.json here
  ./run --quick    a part of it, 2 minutes at most

It needs Linux on x64, a shell, tar, gzip, and a driver for Vulkan. It reads and sends nothing else.
`;

/** Writes the folder. Returns its bytes. */
export async function pack(folder) {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("--pack: it packs this machine's Node, so it needs Linux on x64");
  const target = path.resolve(folder);
  if (existsSync(target) && readdirSync(target).length > 0) throw new Error(`--pack: ${target} is not empty`);
  mkdirSync(target, { recursive: true });
  const work = mkdtempSync(path.join(tmpdir(), "headwise-pack-"));
  try {
    await fill(work);
    execFileSync("tar", ["-cf", path.join(work, "../", path.basename(work) + ".tar"), "-C", work, "."]);
    const tar = `${work}.tar`;
    execFileSync("gzip", ["-6", "-f", tar]); // -9 takes three times as long for half a percent
    cpSync(`${tar}.gz`, path.join(target, "proof.tar.gz"));
    rmSync(`${tar}.gz`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  writeFileSync(path.join(target, "run"), RUN, { mode: 0o755 });
  writeFileSync(path.join(target, "README"), README);
  return readdirSync(target).reduce((sum, name) => sum + statSync(path.join(target, name)).size, 0);
}

async function fill(work) {
  for (const file of FILES) {
    const from = path.join(root, file);
    if (!existsSync(from)) continue;
    cpSync(from, path.join(work, file), { recursive: true, filter: (name) => !LEFT_OUT.test(name) });
  }
  const here = (name) => fileURLToPath(new URL(name, import.meta.url));
  const there = path.join(work, "tests/bench/proof");
  const options = { bundle: true, format: "esm", platform: "node", logLevel: "warning" };
  for (const module of ["core.mjs", "packed.mjs", "ortInNode.mjs"])
    await bundle({ ...options, entryPoints: [here(module)], outfile: path.join(there, module) });
  if (existsSync(path.join(root, ORT))) packOrt(path.join(root, ORT), path.join(work, ORT));
  stripped(process.execPath, path.join(work, "bin/node"));
  const dawn = "node_modules/webgpu/dist/linux-x64/dawn.node";
  stripped(path.join(root, dawn), path.join(work, dawn));
  if (existsSync(VULKAN)) cpSync(VULKAN, path.join(work, "lib/libvulkan.so.1"), { dereference: true });
}

function packOrt(from, to) {
  for (const file of ORT_FILES) cpSync(path.join(from, file), path.join(to, file));
  const program = readFileSync(path.join(from, ORT_PROGRAM));
  const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
  writeFileSync(path.join(to, `${ORT_PROGRAM}.br`), brotliCompressSync(program, { params }));
}

/** A copy of a program without its symbols, where this machine can remove them. */
function stripped(from, to) {
  mkdirSync(path.dirname(to), { recursive: true });
  cpSync(from, to, { dereference: true });
  try {
    execFileSync("strip", [to], { stdio: "ignore" });
  } catch {
    // it is only larger
  }
}
