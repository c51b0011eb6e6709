// Builds dist-demo/cli.js, the command for the terminal.

import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.resolve(HERE, "../..");

export const buildCommand = () => bundleForNode(ROOT, { cli: "cli/main.ts" });

/** Bundles programs of the demo for Node. They load the built package by its name. */
export const bundleForNode = (root, entryPoints) =>
  build({
    bundle: true,
    format: "esm",
    logLevel: "warning",
    absWorkingDir: HERE,
    entryPoints,
    outdir: path.join(root, "dist-demo"),
    platform: "node",
    target: "node20",
    external: ["headwise", "*/room.js"],
  });
