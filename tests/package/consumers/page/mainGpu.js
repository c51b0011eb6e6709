import { createAttention } from "headwise";

import { report } from "./compute.js";

report(createAttention({ backend: "webgpu" }));
