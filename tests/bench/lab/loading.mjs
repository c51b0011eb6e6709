// node tests/bench/lab/loading.mjs: how much memory loadModel needs for a file on the disk, as a multiple of the file. The
// model has the shape of GPT-2 small and random weights, which are kept as they are stored.
//
// "held" is what cannot be freed: the growth of the engine's memory and the arrays in JavaScript, after a collection of
// garbage at each piece. It is the same in each run. "process" is what the process grew by without such collections; it
// has garbage too, of which V8 lets up to 40 MB gather before it collects.

import { spawnSync } from "node:child_process";
import { mkdtempSync, openAsBlob, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { oneOf, settingsOf, wholeNumber } from "../../../web/build/usage.mjs";
import { configOf, randomFile } from "./gpt2Small.mjs";

const SCRIPT = fileURLToPath(import.meta.url);
const ROOT = path.resolve(SCRIPT, "../../../..");
const from = (file) => import(pathToFileURL(path.join(ROOT, "dist", file)).href);
const USAGE = `node tests/bench/lab/loading.mjs [options]
  --layers N       blocks (default 12)
  --dtype NAME     F16 or F32 (default: both)
  --file FILE      what one process measures of a file with so many blocks, as JSON; needs node --expose-gc
  --collects       collects garbage at each piece of that file
  --help           this text`;

const DTYPES = ["F16", "F32"];
const { layers, dtypes, file, collects } = settingsOf(USAGE, (given) => ({
  layers: wholeNumber("--layers", given.layers ?? "12", 1),
  dtypes: given.dtype === undefined ? DTYPES : [oneOf("--dtype", given.dtype, DTYPES)],
  file: given.file,
  collects: given.collects === true,
}));

if (file) console.log(JSON.stringify(await growth(file)));
else for (const dtype of dtypes) measure(dtype);

function measure(dtype) {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-loading-"));
  const written = path.join(folder, "model.safetensors");
  try {
    const bytes = randomFile(dtype, layers);
    writeFileSync(written, bytes);
    const inChild = (...options) => {
      const given = ["--expose-gc", SCRIPT, "--file", written, "--layers", String(layers), ...options];
      const { stdout, stderr, status } = spawnSync(process.execPath, given, { encoding: "utf8" });
      if (status !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const [{ held }, { resident }] = [inChild("--collects"), inChild()];
    const share = (part) => (part / bytes.length).toFixed(2);
    console.log(
      `${dtype}: ${(bytes.length / 1e6).toFixed(0)} MB in the file, held ${share(held)} ×, process ${share(resident)} ×`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The most that loading a file adds to what was there before: bytes that are held, and bytes of the process. */
async function growth(file) {
  const [{ createAttention }, { loadModel }] = [await from("index.node.js"), await from("models.js")];
  const hw = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 2 ** 31 });
  const config = new TextEncoder().encode(JSON.stringify(configOf(layers)));
  const files = { "config.json": config, "model.safetensors": await openAsBlob(file) };
  const inEngine = () => {
    const tensor = hw.allocate([1]);
    const { byteLength } = tensor.data.buffer;
    tensor.dispose();
    return byteLength;
  };
  globalThis.gc();
  const before = { held: inEngine() + process.memoryUsage().arrayBuffers, resident: process.memoryUsage.rss() };
  const most = { held: 0, resident: 0 };
  const onProgress = () => {
    if (collects) globalThis.gc();
    most.held = Math.max(most.held, inEngine() + process.memoryUsage().arrayBuffers - before.held);
    most.resident = Math.max(most.resident, process.memoryUsage.rss() - before.resident);
  };
  const model = await loadModel(hw, files, { onProgress });
  model.dispose();
  hw.dispose();
  return most;
}
