// Kills the worker of headwise/worker while one call runs and others wait. Prints how they end, after how many
// milliseconds (for the bench), and what works afterwards.

import { workers } from "./spawnedWorkers.mjs";

const { createAttention } = await import("headwise/worker");
const hw = await createAttention({ threads: 1 });
/** Work for tens of seconds: it cannot end before the worker is killed. */
const large = { data: new Float32Array(32768 * 64).fill(1), shape: [32768, 64] };
const small = { data: new Float32Array(8).fill(1), shape: [2, 4] };
const cache = await hw.kvCache({ numKvHeads: 1, headDim: 4 });
await cache.append(small, small);

const ending = (call) =>
  call.then(
    () => ({ ended: "well" }),
    ({ name, code, message, hint }) => ({ name, code, message, hint, at: performance.now() }),
  );
const calls = [
  hw.scaledDotProductAttention(large, large, large),
  cache.attend(small),
  hw.scaledDotProductAttention(small, small, small),
].map(ending);
await new Promise((resolve) => setTimeout(resolve, 20)); // by then it usually computes
const killed = performance.now();
void workers[0].terminate();
const endings = (await Promise.all(calls)).map(({ at, ...rest }) => ({ ...rest, milliseconds: at - killed }));
const { output } = await hw.scaledDotProductAttention(small, small, small);
const afterwards = await ending(cache.attend(small));
hw.dispose();
console.log(JSON.stringify({ endings, started: workers.length, value: output.data[0], afterwards }));
