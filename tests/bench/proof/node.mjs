// The proof in Node, in a process of its own: a driver that crashes must not end the command.

import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";

import { createAttention } from "../../../dist/index.node.js";

import nameSoftwareAdapter, { dawnFlags } from "../../webgpu/softwareAdapter.mjs";
import { openPeers } from "./ortInNode.mjs";

nameSoftwareAdapter();
const [core, options] = [process.argv[2], JSON.parse(process.argv[3])];
const { create, globals } = await import("webgpu");
Object.assign(globalThis, globals);
/** Dawn rounds timestamps to 65 µs for the privacy of pages; more than many kernels take. */
const ROUNDING = "timestamp_quantization";
globalThis.proofGpu = create(dawnFlags(ROUNDING)); // must live as long as its devices: if it was collected, the process would crash
const { prove } = await import(core);
const table = JSON.parse(readFileSync(new URL("../../cases/attention.json", import.meta.url), "utf8"));
const record = await prove({
  gpu: globalThis.proofGpu,
  createAttention,
  table,
  host: {
    name: `Node ${process.versions.node}`,
    system: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? "",
    cores: availableParallelism(),
  },
  ...(await openPeers(globalThis.proofGpu)),
  report: (progress) => process.send({ progress }),
  ...options,
});
await new Promise((resolve) => process.send({ record }, resolve));
process.exit(0);
