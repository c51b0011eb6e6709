// The order in which Jest starts test files: the slowest first, so that none of them runs alone at the end.

import Sequencer from "@jest/test-sequencer";

/** The files that take longest, by their folder. All others follow, as Jest orders them. */
const SLOWEST = Object.entries({
  // on a software adapter
  webgpu: [
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
  ],
  browser: ["lab/embed", "lab/loading", "vizLabels", "lab/shell", "lab/media", "lab/visitor", "lab/matrix", "lab/tour"],
  "package/matrix": ["bundlers", "frameworks", "next", "firefox", "bundledElsewhere"],
}).flatMap(([folder, names]) => names.map((name) => `/tests/${folder}/${name}.test.ts`));

function placeOf({ path }) {
  const place = SLOWEST.findIndex((name) => path.endsWith(name));
  return place < 0 ? SLOWEST.length : place;
}

export default class SlowFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => placeOf(a) - placeOf(b));
  }
}
