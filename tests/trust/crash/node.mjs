// node node.mjs REPORT SCENE HANGS [GLUE]: a scene in Node.

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { workers } from "../../web/programs/spawnedWorkers.mjs";
import { openGpu } from "../soak/gpu.mjs";
import { SCENES } from "./scenes.mjs";

const [report, scene, hangs, glue] = process.argv.slice(2);
const unhandled = [];
process.on("unhandledRejection", (reason) => unhandled.push(String(reason)));
const gpu = scene === "device destroyed" ? await openGpu() : undefined;
const tools = {
  direct: await import("headwise"),
  inWorker: await import("headwise/worker"),
  workers,
  gpu,
  glueUrl: glue && pathToFileURL(glue).href,
  hangs: Number(hangs),
};
const isMissing = scene === "device destroyed" && !gpu;
const outcome = isMissing ? { missing: "no WebGPU adapter" } : { endings: await SCENES[scene](tools), unhandled };
writeFileSync(report, JSON.stringify(outcome));
process.exit(0); // a killed thread may keep the process alive
