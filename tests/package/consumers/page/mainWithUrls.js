import { createAttention } from "headwise";

import { report } from "./compute.js";

// Copied from node_modules/headwise/dist/wasm.
const asset = (ending) => new URL(`assets/headwise.simd.${ending}`, globalThis.location.href).href;
const wasm = { url: asset("wasm"), glueUrl: asset("js") };

report(createAttention({ threads: 2, backend: "wasm", variant: "simd", wasm }));
