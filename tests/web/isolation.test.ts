import { describe } from "@jest/globals";
import { createAttention } from "headwise";

import { variants } from "./engines.js";
import { isolationTests } from "./isolation.js";
import { insideIsolationTests } from "./isolationInside.js";

describe.each(variants)("variant %s", (variant) => {
  const create = () => createAttention({ backend: "wasm", variant, threads: 1 });
  isolationTests(create, 150);
  insideIsolationTests(create, 60);
});
