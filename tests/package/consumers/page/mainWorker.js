import { createAttention } from "headwise/worker";

import { report } from "./compute.js";

report(createAttention({ threads: 2, backend: "wasm" }));
