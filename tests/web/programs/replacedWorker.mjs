// A cache and a layer of a worker that has ended, in calls with those of the next worker. Their numbers in the two workers
// are the same. Prints how the calls end, and how many tokens the new cache has then.

import { workers } from "./spawnedWorkers.mjs";

const { createAttention } = await import("headwise/worker");
const hw = await createAttention({ threads: 1 });
const square = { data: new Float32Array(16).fill(0.5), shape: [4, 4] };
const weights = { Wq: square, Wk: square, Wv: square, Wo: square };
const x = { data: new Float32Array(8).fill(1), shape: [2, 4] };
const made = async () => ({
  layer: await hw.multiHeadAttention({ numHeads: 1, weights }),
  cache: await hw.kvCache({ numKvHeads: 1, headDim: 4 }),
});
const ending = (call) =>
  call.then(
    () => "it ended well",
    ({ code, message }) => ({ code, message }),
  );

const old = await made();
await workers[0].terminate();
await ending(hw.scaledDotProductAttention(x, x, x)); // notices the end
const now = await made();
const endings = [
  await ending(now.layer.forward(x, { cache: old.cache })),
  await ending(old.layer.forward(x, { cache: now.cache })),
  await ending(hw.record((recorder) => ({ y: recorder.layer(old.layer, recorder.input("x", [2, 4])) }))),
];
const { length } = now.cache;
const last = await ending(now.layer.forward(x, { cache: now.cache }));
hw.dispose();
console.log(JSON.stringify({ endings, length, last, started: workers.length }));
