// The libraries of the bench, with the versions that its package pins. Only for Node.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

import { root } from "../../../web/build/paths.mjs";

const PACKAGES = {
  ort: { name: "onnxruntime-web" },
  "ort-mha": { name: "onnxruntime-web", variant: "MultiHeadAttention" },
  "ort-native": { name: "onnxruntime-node", backend: "native" },
  tfjs: { name: "@tensorflow/tfjs-core" },
  jax: { name: "@jax-js/jax" },
  ruvector: { name: "ruvector-attention-wasm" },
};

const packageIn = (folder) => JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), "utf8"));

export const headwiseVersion = () => packageIn("../../..").version;

/** A peer as an engine of the file. The textbook program belongs to the bench itself. */
export function engineOf(peer, { backend, threads }) {
  const known = PACKAGES[peer];
  if (!known) return { library: `headwise-bench ${peer}`, version: headwiseVersion(), backend, threads };
  const { name: library, variant, backend: own = backend } = known;
  const version = packageIn("..").dependencies[library];
  return { library, version, backend: own, variant, threads };
}

/** The commit, and whether files differ from it; undefined if there is no repository. */
export function commit() {
  try {
    const options = { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync("git", ["describe", "--always", "--dirty", "--exclude=*"], options).trim();
  } catch {
    return undefined;
  }
}
