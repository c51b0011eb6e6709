import { report } from "./compute.js";
import { createAttention } from "./node_modules/headwise/dist/inline.js";

report(createAttention());
