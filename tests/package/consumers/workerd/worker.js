import { createAttention } from "headwise/inline";
import module from "headwise/wasm/headwise.inline.wasm";

import { report } from "./compute.js";

export default {
  async test() {
    report(createAttention({ wasm: { module } }));
    console.log(JSON.stringify(await globalThis.outcome));
  },
};
