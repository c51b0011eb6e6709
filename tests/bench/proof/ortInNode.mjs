// ONNX Runtime Web's WebGPU engine in Node. It takes the GPU from `navigator`, as in a page.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

import { open } from "../webgpu/ort.mjs";

const FOLDER = new URL("../node_modules/onnxruntime-web/dist", import.meta.url);

/** Its program. A packed folder has it compressed. */
const PROGRAM = "ort-wasm-simd-threaded.asyncify.wasm";

/** The peers of the proof, and why others are missing. */
export async function openPeers(gpu) {
  if (!existsSync(FOLDER)) return { missingPeers: { ort: "it is not installed; npm ci in tests/bench installs it" } };
  try {
    const { hardwareConcurrency } = globalThis.navigator ?? {};
    const page = { gpu, hardwareConcurrency, userAgent: "", language: "en" };
    Object.defineProperty(globalThis, "navigator", { value: page, configurable: true });
    takeSharedMemory();
    const wasm = { wasmBinary: program(), numThreads: 1 };
    return { peers: [{ name: "ort", ...(await open({ folder: FOLDER.href, wasm })) }] };
  } catch (error) {
    return { missingPeers: { ort: error.message } };
  }
}

/** Dawn in Node writes no shared memory to buffers, unlike browsers, and that is what this engine's memory is. */
function takeSharedMemory() {
  const queue = globalThis.GPUQueue.prototype;
  const { writeBuffer } = queue;
  queue.writeBuffer = function (buffer, offset, data, ...part) {
    const isShared = data.buffer instanceof SharedArrayBuffer;
    return writeBuffer.call(this, buffer, offset, isShared ? data.slice() : data, ...part);
  };
}

function program() {
  const file = fileURLToPath(`${FOLDER.href}/${PROGRAM}`);
  return existsSync(file) ? readFileSync(file) : brotliDecompressSync(readFileSync(`${file}.br`));
}
