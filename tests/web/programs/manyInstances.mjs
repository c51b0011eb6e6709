// Makes and disposes 20 instances, one after another. Prints how much memory they leave behind. Ends when their threads
// have ended. Needs --expose-gc.
import { createAttention } from "headwise";

const x = { data: new Float32Array(64).fill(1), shape: [8, 8] };

async function cycle() {
  const hw = await createAttention({ threads: 2, maximumMemory: 64 * 2 ** 20 });
  await hw.scaledDotProductAttention(x, x, x);
  hw.dispose();
}

async function settled() {
  while (process.report.getReport().workers.length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  globalThis.gc();
  return process.memoryUsage();
}

for (let n = 0; n < 5; ++n) await cycle();
const before = await settled();
for (let n = 0; n < 20; ++n) await cycle();
const after = await settled();
console.log(JSON.stringify({ heap: after.heapUsed - before.heapUsed, resident: after.rss - before.rss }));
