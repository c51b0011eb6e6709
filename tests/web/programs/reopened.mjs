// node reopened.mjs FOLDER: kills the worker of headwise/worker and moves the folder of the engine's files away. The
// next calls try to start another worker. Prints how they end, and how a call ends after the folder is back.
import { renameSync } from "node:fs";

import { workers } from "./spawnedWorkers.mjs";

const folder = process.argv[2];

const { createAttention } = await import("headwise/worker");
const hw = await createAttention({ threads: 1, wasm: { baseUrl: folder } });
const x = { data: new Float32Array(8).fill(1), shape: [2, 4] };
const ending = () =>
  hw.scaledDotProductAttention(x, x, x).then(
    ({ output }) => output.data[0],
    ({ name, code, message }) => ({ name, code, operation: message.split(":")[0] }),
  );
await workers[0].terminate();
renameSync(folder, `${folder}-away`);
const endings = [await ending(), ...(await Promise.all([ending(), ending()]))];
renameSync(`${folder}-away`, folder);
endings.push(await ending());
hw.dispose();
console.log(JSON.stringify({ endings, started: workers.length }));
