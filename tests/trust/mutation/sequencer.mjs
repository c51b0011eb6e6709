// The order of test files for a mutant: as they are named, the quickest first.

import Sequencer from "@jest/test-sequencer";

const order = JSON.parse(process.env.HEADWISE_ORDER ?? "[]");

export default class QuickFirst extends Sequencer {
  sort(tests) {
    const placeOf = ({ path }) => order.findIndex((file) => path.endsWith(file));
    return [...tests].sort((a, b) => placeOf(a) - placeOf(b));
  }
}
