// A program: gives every property of the elements of headwise/viz something large, in Chromium, and writes what that has cost
// too much to the file that is its argument.

import { writeFileSync } from "node:fs";

import { build } from "esbuild";

import { launchChromium } from "../../browser/chromium.js";
import { causalProbs, end, openElement } from "../../browser/vizPage.js";

const PROBS = causalProbs(2, 6);

/** Values that the properties take, made in the page. */
const OF_BOTH = `
  batch: 0, label: "Layer 1", theme: "light", controls: true, causal: true,
  probs: { data: new Float32Array(72), shape: [2, 6, 6] }, mask: { data: new Uint8Array(36), shape: [6, 6] },
  source: { heads: 1, queries: 2, keys: 3, rows: () => new Float32Array(6) }, isHidden: () => false,
  queryTokens: ["a"], keyTokens: ["a"], headNames: ["a"]`;
const PROPERTIES = {
  "attention-map": `{ ${OF_BOTH}, kind: "probs", head: 1, range: [0, 1], palette: "viridis", values: true, locked: false,
    cell: { query: 1, key: 0 }, view: { queries: [0, 2], keys: [0, 2] }, describe: () => "" }`,
  "attention-heads": `{ ${OF_BOTH}, threshold: 0.5, enabled: [0], selection: { queries: [1], keys: [0] } }`,
} as const;

const { outputFiles } = await build({
  entryPoints: ["tests/trust/badInput/costlyProperties.ts"],
  ...{ bundle: true, write: false, format: "iife", globalName: "trial", platform: "browser", target: "es2022" },
  logLevel: "error",
});
const browser = await launchChromium("--enable-precise-memory-info");
const costly: Record<string, string[]> = {};
for (const tag of ["attention-map", "attention-heads"] as const) {
  const { page } = await openElement(browser, tag, PROBS, { bypassCSP: true });
  await page.addScriptTag({ content: outputFiles[0]!.text });
  const found = await page.evaluate<string[]>(`trial.costlyProperties(window.map, ${PROPERTIES[tag]})`);
  if (found.length > 0) costly[tag] = found;
}
await end(browser);
writeFileSync(process.argv[2]!, JSON.stringify(costly));
process.exit();
