/**
 * Builds the lab into dist-demo/: page/ for the browser, model/, the model as the page loads it, and decoders/.
 * What the page shows first is computed here, with the built package. `site.mjs` makes a folder that any static host can
 * serve. (`command.mjs` builds the command for the terminal.)
 */
import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build as buildPage } from "vite";

import { bundleForNode } from "./command.mjs";
import { embedScript } from "./embed/plugin.mjs";
import { textFont } from "./fontPlugin.mjs";
import { onlyWoff2, tex } from "./texPlugin.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.resolve(HERE, "../..");

export async function buildLab({ root = ROOT } = {}) {
  const out = path.join(root, "dist-demo");
  await bundleForNode(root, { ahead: "ahead/ahead.ts" });
  const { computeAhead } = await import(pathToFileURL(path.join(out, "ahead.js")).href);
  const computed = await computeAhead(path.join(out, "model"));
  await buildPage(pageConfiguration(root, path.join(out, "page"), computed));
  copyDecoders(path.join(out, "decoders"));
  return computed.numbers.storage;
}

/** The small decoders of the room Generate, as web/demo/train made them. Without them the room says what is missing. */
function copyDecoders(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const made = path.join(HERE, "decoders");
  if (existsSync(made)) cpSync(made, folder, { recursive: true });
}

/** Gives the page what was computed for it: the numbers as a module, the first screen as HTML. */
function ahead({ numbers, lesson, rooms, room }) {
  const modules = { "virtual:ahead": numbers, "virtual:lesson": lesson };
  return {
    name: "ahead",
    resolveId: (id) => (id in modules ? id : undefined),
    load: (id) => (id in modules ? `export default ${JSON.stringify(modules[id])};` : undefined),
    transformIndexHtml: (html) =>
      html.replace("<!-- rooms -->", () => rooms).replace("<!-- first room -->", () => room),
  };
}

/** A worker speaks English, so that it needs no copy of another language. */
const englishOnly = () => ({
  name: "english-only",
  load: (id) => (id.endsWith("/demo/texts/de.ts") ? "export const GERMAN = {};" : undefined),
});

/** @returns {import("vite").InlineConfig} */
function pageConfiguration(root, outDir, computed) {
  return {
    configFile: false,
    root: path.join(HERE, "lab"),
    base: "./",
    logLevel: "warn",
    plugins: [tex(), onlyWoff2(), ahead(computed), textFont(), embedScript()],
    // Resolve the built package, as a user's bundler does.
    resolve: {
      alias: [
        { find: /^headwise$/, replacement: path.join(root, "dist/index.js") },
        { find: /^headwise\/(\w+)$/, replacement: path.join(root, "dist/$1.js") },
      ],
    },
    worker: { format: "es", plugins: () => [englishOnly()] },
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2022",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      // One style sheet: Vite does not load a room's own one again after it failed.
      cssCodeSplit: false,
      // One script before a room opens. Without this, a module that waits for a language splits it into many.
      rolldownOptions: {
        checks: { bundlerTimings: false }, // on a busy machine it tells how slow each plugin was
        output: { codeSplitting: { groups: [{ name: "index", tags: ["$initial"] }] } },
      },
    },
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { megabytes, sentences, cosine, weight } = await buildLab();
  console.log(
    `The page's model has ${megabytes.toFixed(1)} MB. Against float32, over ${sentences} sentences: cosine of embeddings ` +
      `at least ${cosine.toFixed(7)}, weights of attention at most ${weight.toFixed(4)} apart.`,
  );
}
