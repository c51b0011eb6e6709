// Instances of the WebGPU engine that are dropped. Prints whether a result and a running call keep what they need, and
// whether the instances end.
import { create, globals } from "webgpu";
import { createAttention } from "headwise";

Object.assign(globalThis, globals);
globalThis.gpu = create(["backend=null"]); // kept, because Node would crash when it is collected

const x = { data: new Float32Array(64), shape: [1, 1, 8, 8] };
const open = () => createAttention({ backend: "webgpu", gpu: globalThis.gpu });
const outcome = (promise) =>
  promise.then(
    () => "given",
    (error) => error.name,
  );

async function collect() {
  for (let turn = 0; turn < 10; ++turn) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const { mapAsync } = globalThis.GPUBuffer.prototype;
/** Reads back only after garbage was collected. */
globalThis.GPUBuffer.prototype.mapAsync = async function (...parameters) {
  await collect();
  return mapAsync.apply(this, parameters);
};

const { requestDevice } = globalThis.GPUAdapter.prototype;
let lost = 0;
globalThis.GPUAdapter.prototype.requestDevice = async function (...parameters) {
  const device = await requestDevice.apply(this, parameters);
  void device.lost.then(() => (lost += 1));
  return device;
};

async function leaveResult() {
  const hw = await open();
  return (await hw.scaledDotProductAttention(x, x, x, { location: "gpu" })).output;
}

async function saveCache() {
  const hw = await open();
  const cache = await hw.kvCache({ numKvHeads: 1, headDim: 8 });
  await cache.append(x, x);
  return cache.save();
}

async function readLater() {
  const result = await leaveResult();
  await collect();
  return outcome(result.data());
}

const read = await readLater();
const saved = await outcome(saveCache());
await collect();
console.log(JSON.stringify({ read, saved, lost }));
