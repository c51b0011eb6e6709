// The order in which Jest starts test files: the slowest first, so that none of them runs alone at the end.

import Sequencer from "@jest/test-sequencer";

/** The files that take longest on a software adapter. All others follow, as Jest orders them. */
const SLOWEST = [
  "attention",
  "formula",
  "backward",
  "proof",
  "layerBackward",
  "calibration",
  "tilings",
  "cache",
  "randomAttention",
  "layer",
].map((name) => `/tests/webgpu/${name}.test.ts`);

function placeOf({ path }) {
  const place = SLOWEST.findIndex((name) => path.endsWith(name));
  return place < 0 ? SLOWEST.length : place;
}

export default class SlowFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => placeOf(a) - placeOf(b));
  }
}
