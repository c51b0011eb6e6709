// Calls with GPU tensors that fail. Their errors are caught. Prints the caught errors, and all unhandled rejections.
import { create, globals } from "webgpu";
import { createAttention } from "headwise";

Object.assign(globalThis, globals);
globalThis.gpu = create(["backend=null"]); // kept, because Node would crash when it is collected

const unhandled = [];
process.on("unhandledRejection", (reason) => unhandled.push(String(reason)));

const x = { data: new Float32Array(64), shape: [8, 8] };
const openDevice = async () => (await globalThis.gpu.requestAdapter()).requestDevice();
const onGpu = (buffer, offset = 0) => ({ buffer, offset, shape: [8, 8], dtype: "float32" });
const [STORAGE, COPY_DST] = [0x80, 0x8];

const caught = {};
async function fail(name, call) {
  const device = await openDevice();
  const hw = await createAttention({ backend: "webgpu", device });
  await call(hw, device).catch((error) => (caught[name] = error.name));
  for (let turn = 0; turn < 3; ++turn) await new Promise((resolve) => setTimeout(resolve, 20));
  hw.dispose();
}

await fail("lost", (hw, device) => {
  const call = hw.scaledDotProductAttention(onGpu(device.createBuffer({ size: 256, usage: STORAGE })), x, x);
  device.destroy();
  return call;
});
await fail("foreign, and misplaced", async (hw, device) => {
  const foreign = (await openDevice()).createBuffer({ size: 256, usage: STORAGE });
  const misplaced = device.createBuffer({ size: 512, usage: STORAGE | COPY_DST });
  return hw.scaledDotProductAttention(x, onGpu(foreign), onGpu(misplaced, 20));
});
await fail("fake", (hw) => hw.scaledDotProductAttention(x, onGpu({ usage: STORAGE, size: 256 }), x));

console.log(JSON.stringify({ caught, unhandled }));
