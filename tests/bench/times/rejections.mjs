// node rejections.mjs KIND: prints as JSON after how many milliseconds a call of headwise/worker rejects.

import { setTimeout as sleep } from "node:timers/promises";

import { createAttention } from "../../../dist/worker.node.js";

/** Tens of seconds of work, so that the call cannot succeed before it is ended. */
const large = { data: new Float32Array(32768 * 64).fill(1), shape: [32768, 64] };

const kinds = {
  abort: () => {
    const controller = new AbortController();
    return ofRunningCall({ signal: controller.signal }, () => controller.abort());
  },
  dispose: () => ofRunningCall({}, (hw) => hw.dispose()),
  missing: () => rejection(createAttention({ wasm: { url: new URL("none.wasm", import.meta.url).href } })),
};

async function ofRunningCall(options, end) {
  const hw = await createAttention({ threads: 1 });
  const call = hw.scaledDotProductAttention(large, large, large, options);
  await sleep(50);
  return rejection(call, () => end(hw));
}

async function rejection(call, act = () => {}) {
  const start = performance.now();
  act();
  const isWell = await call.then(
    () => true,
    () => false,
  );
  if (isWell) throw new Error("the call ended well");
  return performance.now() - start;
}

const milliseconds = await kinds[process.argv[2]]();
console.log(JSON.stringify({ milliseconds }));
process.exit(); // the worker still computes
