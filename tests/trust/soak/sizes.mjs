// What a process holds. Needs --expose-gc.

import { getEventListeners } from "node:events";
import { setTimeout as elapsed } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";

// V8 otherwise moves objects together only now and then, and the pages of its heap go up and down by megabytes.
setFlagsFromString("--compact-on-every-full-gc");

/** WebAssembly memories that are not collected yet. */
const memories = new Set();
const Plain = WebAssembly.Memory;
WebAssembly.Memory = class extends Plain {
  constructor(descriptor) {
    super(descriptor);
    memories.add(new WeakRef(this));
  }
};

/** GPU buffers that were made and not destroyed, with their sizes. */
const buffers = new Map();

/** Counts the buffers of all devices from now on. The classes of WebGPU must be global. */
export function countBuffers() {
  const { createBuffer } = globalThis.GPUDevice.prototype;
  const { destroy } = globalThis.GPUBuffer.prototype;
  globalThis.GPUDevice.prototype.createBuffer = function (descriptor) {
    const buffer = createBuffer.call(this, descriptor);
    buffers.set(buffer, descriptor.size);
    return buffer;
  };
  globalThis.GPUBuffer.prototype.destroy = function () {
    buffers.delete(this);
    return destroy.call(this);
  };
}

const sum = (numbers) => [...numbers].reduce((total, number) => total + number, 0);

function engineBytes() {
  for (const memory of memories) if (!memory.deref()) memories.delete(memory);
  return sum([...memories].map((memory) => memory.deref()?.buffer.byteLength ?? 0));
}

/** The bytes of memories at the sample before. */
let before = 0;
const TURN = 20;
const MOST_TURNS = 100;
/** V8 and the system take back memory in the background. */
const REST = 100;

/**
 * Collects until the memories of engines take no more than at the sample before, and for 2 seconds at most. A worker that
 * has ended holds its memory a little longer: what frees it is time, and not a number of collections.
 */
async function collect() {
  for (let turn = 1; turn <= MOST_TURNS; ++turn) {
    await elapsed(TURN);
    globalThis.gc();
    if (turn >= 3 && engineBytes() <= before) break;
  }
  before = engineBytes();
}

/**
 * Sizes that must not change at all (`exact`), and sizes in which V8, Node and the allocator also keep things (`rough`).
 *
 * @param {readonly EventTarget[]} targets - whose listeners are counted
 */
export async function sizes(targets = []) {
  await collect();
  await elapsed(REST);
  const { heapUsed, rss, arrayBuffers } = process.memoryUsage();
  return {
    exact: {
      "wasm memory": engineBytes(),
      "GPU buffers": buffers.size,
      "bytes of GPU buffers": sum(buffers.values()),
      threads: process.report.getReport().workers.length,
      listeners:
        sum(process.eventNames().map((name) => process.listenerCount(name))) +
        sum(targets.map((target) => getEventListeners(target, "abort").length)),
      "open resources": process.getActiveResourcesInfo().filter((name) => name !== "Immediate").length,
    },
    rough: { heap: heapUsed, "array buffers": arrayBuffers, RSS: rss },
  };
}
