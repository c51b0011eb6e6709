// The measure of a row whose tests make random calls on both engines, at the same time.

import path from "node:path";

import { add } from "../../web/build/counts.mjs";
import { verdictOf } from "./figures.mjs";
import { generated, jest } from "./programs.mjs";

/**
 * @param {{ wasm: string[], webgpu: string[] }} files - the test files of each engine
 * @param {{ quick: { wasm: number, webgpu: number }, whole: { wasm: number, webgpu: number } }} calls - random calls of
 *   each test
 * @param {(outcome: { calls: object, wasm: object, webgpu: object, failed: number, rest: string }) => string} figureOf -
 *   from the calls, the counts of each engine, how many tests failed, and a sentence on those that were skipped
 */
export const onBothEngines =
  (files, calls, figureOf) =>
  async ({ isQuick, seed, folder }) => {
    const each = calls[isQuick ? "quick" : "whole"];
    const [wasm, webgpu] = await Promise.all(
      ["wasm", "webgpu"].map((engine) =>
        jest(path.join(folder, engine), files[engine], ...generated(each[engine], seed)),
      ),
    );
    const counts = add(wasm, webgpu);
    const { verdict, rest } = verdictOf(counts);
    const figure = figureOf({ calls: each, wasm, webgpu, failed: counts.failed, rest });
    return { verdict, figure, numbers: { calls: each, wasm, webgpu } };
  };
