import { createAttention } from "headwise";

import { report } from "./compute.js";

report(createAttention({ threads: 2, backend: "wasm" }));
globalThis.outcome.then((outcome) => globalThis.postMessage(outcome));
