import { createAttention } from "headwise/inline";

import { report } from "./compute.js";

report(createAttention());
