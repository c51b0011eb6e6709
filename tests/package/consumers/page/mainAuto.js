import { createAttention } from "headwise/worker";

import { report } from "./compute.js";

report(createAttention({ wasm: { baseUrl: "./assets/" } }));
