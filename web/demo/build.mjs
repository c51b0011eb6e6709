/**
 * Builds the demo into dist-demo/: cli.js for Node, page/ for the browser. The page does not contain the model: the
 * command serves it from node_modules. `site.mjs` makes a folder that any static host can serve.
 */
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build as bundle } from "esbuild";
import { build as buildPage } from "vite";

import { embedScript } from "./embed/plugin.mjs";
import { onlyWoff2, tex } from "./texPlugin.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.resolve(HERE, "../..");

export async function buildDemo({ root = ROOT } = {}) {
  const out = path.join(root, "dist-demo");
  await Promise.all([
    bundle({
      bundle: true,
      format: "esm",
      logLevel: "warning",
      absWorkingDir: HERE,
      entryPoints: ["cli/main.ts"],
      outfile: path.join(out, "cli.js"),
      platform: "node",
      target: "node20",
      external: ["headwise"],
    }),
    buildPage(pageConfiguration(root, path.join(out, "page"))),
  ]);
}

/** @returns {import("vite").InlineConfig} */
function pageConfiguration(root, outDir) {
  return {
    configFile: false,
    root: path.join(HERE, "lab"),
    base: "./",
    logLevel: "warn",
    plugins: [tex(), onlyWoff2(), embedScript()],
    // Resolve the built package, as a user's bundler does.
    resolve: {
      alias: [
        { find: /^headwise$/, replacement: path.join(root, "dist/index.js") },
        { find: /^headwise\/(\w+)$/, replacement: path.join(root, "dist/$1.js") },
      ],
    },
    worker: { format: "es" },
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2022",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      // One style sheet: Vite does not load a room's own one again after it failed.
      cssCodeSplit: false,
    },
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await buildDemo();
