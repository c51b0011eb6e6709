// One process that loads a model, from a folder or from a server, and says as JSON how fast that was and how much memory it
// took. `node tests/bench/models.mjs` starts it: memory can be measured once in a process only.
//
//   node loading.mjs FOLDER           the folder has config.json and model.safetensors
//   node loading.mjs http://…         the same files on a server
//
// Before that it reads the weights without headwise: from the disk past the memory in which the system keeps files
// (O_DIRECT, where the system has it), or as one answer of the server.

import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync, readSync } from "node:fs";
import path from "node:path";

import { fromDist } from "./fromDist.mjs";

const PIECE = 2 ** 22;
const WEIGHTS = "model.safetensors";

const [place] = process.argv.slice(2);
const isRemote = place.startsWith("http");
const { createAttention } = await fromDist("index.node.js");
const { loadModel, openModel } = await fromDist("models.js");

const plain = await timeOf(() => (isRemote ? readAnswer(`${place}/${WEIGHTS}`) : readDisk(path.join(place, WEIGHTS))));
if (!isRemote) forget(path.join(place, WEIGHTS));
const hw = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 2 ** 31 });
const before = process.memoryUsage.rss();
let most = before;
const onProgress = () => (most = Math.max(most, process.memoryUsage.rss()));
let model;
const loading = await timeOf(async () => {
  model = await loadModel(hw, await openModel(place, { cache: false }), { onProgress });
});
const { bytes } = model;
console.log(JSON.stringify({ plain, loading, bytes, memory: most - before }));
process.exit(0); // the server's connections would keep the process alive

/** Milliseconds. */
async function timeOf(run) {
  const begun = performance.now();
  await run();
  return performance.now() - begun;
}

/** Reads a file to the end. Direct reading needs memory that begins at a page, as that of WebAssembly does. */
function readDisk(file) {
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_DIRECT ?? 0));
  const piece = new Uint8Array(new WebAssembly.Memory({ initial: PIECE / 2 ** 16 }).buffer);
  for (let at = 0, count; (count = readSync(descriptor, piece, 0, PIECE, at)) > 0;) at += count;
  closeSync(descriptor);
}

async function readAnswer(address) {
  const { body } = await fetch(address);
  for (const reader = body.getReader(); !(await reader.read()).done;);
}

/** Lets the system forget a file, so that it is read from the disk. Without `dd` it stays in memory. */
function forget(file) {
  spawnSync("dd", [`if=${file}`, "iflag=nocache", "count=0"]);
}
