import { report } from "./compute.js";
import { createAttention } from "./node_modules/headwise/dist/inline.js";

globalThis.onmessage = async ({ ports: [port] }) => {
  report(createAttention());
  port.postMessage(await globalThis.outcome);
};
