// The cases of attention-conformance in every browser of this machine and in Node, in every way in which headwise computes.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { root } from "../../../web/build/paths.mjs";
import { ALL_ON_WGPU, wgpuTests } from "../../../web/build/wgpuTests.mjs";
import { readRows } from "../../attention-conformance/runner/suite.mjs";
import { faultsOf, figureOf, matrixOf } from "../engines/matrix.mjs";
import { keep } from "../../figures/file.mjs";
import { browsers } from "../pages.mjs";
import { reportOf } from "../programs.mjs";

const PROGRAM = "tests/trust/engines/node.mjs";
const PAGE = "tests/trust/engines/page.html";

/** Every which case is computed. A software GPU takes seconds to compile the kernels of a case. */
const STEPS = { quick: { wasm: 20, webgpu: 200 }, whole: { wasm: 1, webgpu: 20 } };

const waysOf = ({ wasm, webgpu }) => [
  ...["simd", "relaxed", "threads"].map((name) => ({ name, step: wasm })),
  { name: "webgpu", step: webgpu },
];

const placesIn = (folder) => [
  { place: "Node", open: (job) => reportOf(folder, "node", PROGRAM, [JSON.stringify(job)], 30) },
  ...Object.entries(browsers).map(([place, { missing, open }]) => ({
    place,
    missing: missing(),
    open: (job) => open(`${PAGE}?${encodeURIComponent(JSON.stringify(job))}`),
  })),
];

/** Computes jobs at a place, one after another. */
async function outcomeAt({ place, missing, open }, jobs) {
  if (missing) return { place, missing };
  const [results, versions] = [[], []];
  for (const job of jobs)
    try {
      const { version, outcome } = await open(job);
      if (outcome.failure) throw new Error(outcome.failure);
      results.push(...outcome.results);
      versions.push(version);
    } catch (error) {
      const failure = error.message.replace(/\s+/g, " ").slice(0, 300);
      results.push(...job.ways.map(({ name }) => ({ name, failure })));
    }
  return { place, version: versions[0], results };
}

/** Where the module of the suite and the cases lie, as addresses in the repository. */
async function suiteIn(folder) {
  const { bundled, measureFile } = await import("../../attention-conformance/runner/bundle.mjs"); // Jest cannot load it
  const cases = path.join(folder, "cases.json");
  writeFileSync(cases, JSON.stringify(readRows()));
  const addressOf = (file) => `/${path.relative(root, file)}`;
  return { suite: addressOf(fileURLToPath(await bundled(measureFile))), cases: addressOf(cases) };
}

/** What the tests of WebGPU say in Deno. */
function denoFigure(counts) {
  if (!counts) return "Deno only in full";
  const { passed, failed } = counts;
  return passed + failed === 0 ? "Deno not measured" : `Deno: ${passed} tests passed, ${failed} failed`;
}

export const engines = {
  name: "engines",
  what: "the cases of attention-conformance in Node, Chromium, Firefox and WebKitGTK: SIMD, relaxed SIMD, two threads, WebGPU; the tests of WebGPU in Deno (wgpu)",
  goal: "no check fails; what the engine can do, headwise uses",
  minutes: { quick: 0.5, whole: 14.5 },
  async measure({ isQuick, folder }) {
    const suite = await suiteIn(folder);
    const ways = waysOf(STEPS[isQuick ? "quick" : "whole"]);
    // A page has four minutes, and starting a browser takes seconds: a page for each way in full, otherwise two.
    const isWasm = ({ name }) => name !== "webgpu";
    const parts = isQuick ? [ways.filter(isWasm), ways.filter((way) => !isWasm(way))] : ways.map((way) => [way]);
    const jobs = parts.map((part) => ({ ways: part, ...suite }));
    const outcomes = [];
    for (const place of placesIn(folder)) outcomes.push(await outcomeAt(place, jobs));
    const deno = isQuick ? undefined : await wgpuTests(ALL_ON_WGPU);
    const isRight = faultsOf(outcomes).length === 0 && !deno?.failed;
    const figure = [figureOf(outcomes), denoFigure(deno)].join("; ");
    return { verdict: isRight ? "held" : "failed", figure, numbers: outcomes };
  },
  /** Keeps the table of web/docs/engines.md. */
  record: ({ numbers, isQuick }, { date, machine }) => keep("engines", matrixOf(numbers, { date, machine, isQuick })),
};
