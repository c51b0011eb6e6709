// Notes every worker that this process starts. Import it before headwise.

import { createRequire, syncBuiltinESMExports } from "node:module";

const threads = createRequire(import.meta.url)("node:worker_threads");

/** The workers, in the order of their start. */
export const workers = [];

threads.Worker = class extends threads.Worker {
  constructor(...options) {
    super(...options);
    workers.push(this);
  }
};
syncBuiltinESMExports();
